// Columns of tables: row names, notations of numbers, whole numbers, missing cells.
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/catch_plain.hpp"
#include "tables.hpp"

using namespace tables;

TEST_CASE("row names without a header, as R and pandas write them, and empty columns are left out and said") {
  const std::string left = "4 rows; numbers: x; label: c (a, b); left out, without a name: column 1";
  for (const char* text : {"\"\",\"x\",\"c\"\n\"1\",1,\"a\"\n\"2\",2,\"b\"\n\"3\",5,\"a\"\n\"4\",7,\"b\"\n",  // write.csv
                           ",x,c\n0,1,a\n1,2,b\n2,5,a\n3,7,b\n",                                              // to_csv
                           "x,c\nMazda,1,a\nFiat,2,b\nFord,5,a\nLotus,7,b\n",                                 // write.table
                           "sep=;\r\n;x;c\r\n1;1;a\r\n2;2;b\r\n3;5;a\r\n4;7;b\r\n"})                          // Excel
    CHECK(describe_data(table_of(text, "c")) == left);
  CHECK_THAT(describe_data(table_of("x,c,,\n1,a,,\n2,b,,\n3,a,,\n", "c")),
             ContainsSubstring("; left out, without a name: column 3, column 4"));
  CHECK_THAT(csv_error("x,c\n1,a,\n2,b,\n"), ContainsSubstring("t.csv:2: 3 cells in a table of 2 columns"));  // a separator behind each row
}

TEST_CASE("a column that numbers the rows is refused, in whatever order, unless task.types calls it a number") {
  for (const int first : {0, 1, 1000}) {
    for (const int step : {1, 7}) {
      std::string text = "Id,x,c\n";
      for (int i = 0; i < 50; ++i)
        text += std::to_string(first + i * step % 50) + "," + std::to_string(i * i % 7) + (i % 2 ? ",odd\n" : ",even\n");
      auto config = table_of(text, "c");
      CHECK_THAT(refusal(config),
                 ContainsSubstring("column Id numbers the rows (" + std::to_string(first) + " to " + std::to_string(first + 49) +
                                   "), and says nothing about others | leave it out: task.ignore='[\"Id\"]'") &&
                     ContainsSubstring("task.types='{\"Id\":\"number\"}'"));
      *config.types = {{"Id", "number"}};
      CHECK(describe_data(config) == "50 rows; numbers: Id, x; label: c (even, odd)");
      *config.types = Json::object();
      *config.ignore = {"Id"};
      CHECK_THAT(describe_data(config), ContainsSubstring("50 rows; numbers: x; label"));
    }
  }
  std::string gap = "x,c\n";
  for (int i = 0; i < 50; ++i) gap += std::to_string(i + (i == 49)) + (i % 2 ? ",odd\n" : ",even\n");
  CHECK_THAT(describe_data(table_of(gap, "c")), ContainsSubstring("numbers: x"));
}

TEST_CASE("a number in another notation is named with what to write, and is no category unless task.types says so") {
  const std::pair<const char*, const char*> cases[] = {{"45%", "a percentage"},
                                                       {"12.5 %", "a percentage"},
                                                       {"$1000", "an amount of money"},
                                                       {"\"-$1,000.50\"", "an amount of money"},
                                                       {"9\u20AC", "an amount of money"},
                                                       {"\u22125", "a number with another minus sign"},
                                                       {"1 234", "a number with gaps"},
                                                       {"1'234", "a number with marks between digits"},
                                                       {"2024-01-31", "a date"},
                                                       {"31/1/24", "a date"},
                                                       {"1.2.2024", "a date"},
                                                       {"2024-01-31T12:00", "a date"},
                                                       {"12:30", "a time"}};
  for (const auto& [cell, what] : cases) {
    CAPTURE(cell);
    std::string text = "x,y,c\n";
    for (int i = 0; i < 30; ++i) text += (i == 1 ? "unknown" : cell) + std::string(",1,") + (i % 3 ? "a\n" : "b\n");
    auto config = table_of(text, "c");
    CHECK_THAT(refusal(config), ContainsSubstring(":2, column x: ") &&
                                    ContainsSubstring(std::string("\" is ") + what + " | write numbers with") &&
                                    ContainsSubstring("task.ignore='[\"x\"]'") && ContainsSubstring("task.types='{\"x\":\"category\"}'"));
    *config.types = {{"x", "category"}};
    CHECK_THAT(describe_data(config), ContainsSubstring("categories: x (2)"));
  }
  for (const char* cell : {"10-19", "1.2.3", "a 5", "5'11\"", "<5", "%", "3a", "2024-01"}) {
    CAPTURE(cell);
    std::string text = "x,c\n";
    for (int i = 0; i < 30; ++i) text += (i % 2 ? "other" : cell) + std::string(i % 3 ? ",a\n" : ",b\n");
    CHECK_THAT(describe_data(table_of(text, "c")), ContainsSubstring("categories: x (2)"));
  }
  CHECK_THAT(refusal(table_of("x,y\n1,45%\n2,5%\n3,7%\n", "", "y")), ContainsSubstring(":2, column y: \"45%\" is a percentage"));
}

TEST_CASE("a whole number that a double rounds is refused with the type of a category, and others far from 0 are not") {
  const auto rows = [](const std::string& id) { return "id,c\n" + id + ",a\n2,b\n3,a\n"; };
  CHECK_THAT(refusal(table_of(rows("9007199254740993"), "c")),
             ContainsSubstring(":2, column id: the number 9007199254740993 is beyond 2^53, where numbers are rounded") &&
                 ContainsSubstring("task.types='{\"id\":\"category\"}'"));
  for (const char* exact : {"9007199254740992", "-9007199254740992", "+18014398509481984", "1e300"}) {
    CAPTURE(exact);
    CHECK_THAT(refusal(table_of(rows(exact), "c")), !ContainsSubstring("2^53"));
  }
  auto config = table_of(rows("9007199254740993"), "c");
  *config.types = {{"id", "number"}};
  CHECK_THAT(describe_data(config), ContainsSubstring("numbers: id"));
}

TEST_CASE("columns called fixed and per_seed are columns as others") {
  auto config = table_of("fixed,per_seed,c\n1,5,a\n2,6,b\n3,1,a\n4,7,b\n", "c");
  for (const char* split : {"per_seed", "fixed"}) {
    config.split = split;
    CHECK(describe_data(config) == "4 rows; numbers: fixed, per_seed; label: c (a, b)");
    auto label = table_of("x,fixed,c\n1,5,a\n2,6,b\n3,5,a\n4,6,a\n", "fixed");
    label.split = split;
    CHECK_THAT(describe_data(label), ContainsSubstring("label: fixed (5, 6)"));
  }
}

// Ages and colors with gaps, and one row without its answer.
TableConfig with_gaps(const std::string& missing) {
  auto config = table_of(
      "age,color,y,fold\n1,red,10,train\nNA,blue,20,train\n3,,30,train\n"
      "5,red,,train\n,red,50,validation\n6,blue,0,validation\n7,blue,4,train\n",
      "", "y");
  config.split = "fold";
  config.missing = missing;
  return config;
}

TEST_CASE("all missing cells are counted in one message, which names what task.missing can do") {
  const std::string said = refusal(with_gaps("refuse"));
  CHECK_THAT(said,
             ContainsSubstring(":3, column age: \"NA\" stands for a missing value; missing in 4 of 7 rows: y (1), age (2), color (1)"));
  CHECK_THAT(said, ContainsSubstring("task.missing=drop_rows") && ContainsSubstring("task.missing=mean") &&
                       ContainsSubstring("task.ignore='[\"age\",\"color\"]'"));
}

TEST_CASE("rows with missing cells are left out where task.missing says so, and rows keep their number in the file") {
  const auto config = with_gaps("drop_rows");
  CHECK(describe_data(config) ==
        "3 rows; numbers: age; categories: color (2); target: y; split by fold; 4 rows with missing cells left out");
  CHECK(read_table(config)->row_numbers == std::vector<std::int64_t>{1, 6, 7});
  const auto scale = Json::parse(make_task(config, {{1, 2}})->metadata(0).at("table"))["inputs"][0];
  CHECK(scale == Json{{"column", "age"}, {"mean", 4.0}, {"deviation", 3.0}});  // of 1 and 7
  CHECK_THAT(refusal(table_of("x,c\n1,a\n,b\n3,\n4,b\n", "c")), ContainsSubstring("missing in 2 of 4 rows: c (1), x (1)"));
}

TEST_CASE("a missing number is the mean of the training rows and has an indicator; a missing category is a value") {
  const auto config = with_gaps("mean");
  CHECK_THAT(describe_data(config), ContainsSubstring("6 rows; numbers: age (2 missing); categories: color (3)") &&
                                        ContainsSubstring("; 1 row with missing cells left out"));
  const auto task = make_task(config, {{1, 2}});
  CHECK(task->shape().input_width == 5);
  const double mean = 11.0 / 3, deviation = std::sqrt((1 + 9 + 49) / 3.0 - mean * mean);  // of the training rows 1, 3, 7
  const auto set = task->validation(10);
  const std::vector<double> expected{0, 1, 0, 0, 1, (6 - mean) / deviation, 0, 0, 1, 0};  // age, whether it is missing, "", blue, red
  REQUIRE(set.vectors.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(static_cast<double>(set.vectors[i]) - expected[i]) < 1e-6);
  const auto inputs = Json::parse(task->metadata(0).at("table"))["inputs"];
  CHECK(inputs[0]["missing"] == true);
  CHECK(std::abs(inputs[0]["mean"].get<double>() - mean) < 1e-12);
  CHECK(inputs[1]["values"] == Json{"", "blue", "red"});
  CHECK(trained_shape(config, task->metadata(0)).input_width == 5);
  CHECK_THAT(refusal(table_of("x,y,c\n1,,a\n2,,b\n3,,b\n4,,a\n", "c")), ContainsSubstring("y (4)"));
  auto empty = table_of("x,y,c\n1,,a\n2,,b\n3,,b\n4,,a\n", "c");
  empty.missing = "mean";
  CHECK_THAT(refusal(empty), ContainsSubstring("column y has no value | leave it out: task.ignore='[\"y\"]'"));
}
