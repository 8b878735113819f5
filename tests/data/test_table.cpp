// Tables: what the parser reads and refuses, types, standardisation and one-hot by hand, splits, and what is refused of a table.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/data/run_identity.hpp"
#include "support/catch_plain.hpp"
#include "tables.hpp"

using namespace tables;

namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows cells_of(const std::string& text, const std::vector<std::string>& columns = {"a", "b"}) {
  return parse_csv(text, columns, "t.csv").rows;
}

// Six rows whose last two are held out.
const std::string kFolds =
    "x,color,y,fold\n1,red,10,train\n2,blue,20,train\n3,red,30,train\n6,green,60,train\n5,blue,50,validation\n3,red,0,validation\n";

TableConfig folds(const std::string& label, const std::string& target) {
  auto config = table_of(kFolds, label, target);
  config.split = "fold";
  return config;
}

/// The rows of a table of 50 whose first number is its own, in the order of a validation set.
std::vector<int> held_out_rows(const TableConfig& config, std::uint64_t seed) {
  const auto task = make_task(config, {{seed, 0}});
  const auto metadata = Json::parse(task->metadata(0).at("table"))["inputs"][0];
  const auto set = task->validation(1000);
  std::vector<int> out;
  for (std::int64_t i = 0; i < set.count; ++i)
    out.push_back(static_cast<int>(
        std::lround(static_cast<double>(set.vectors[static_cast<std::size_t>(i * 2)]) * metadata["deviation"].get<double>() +
                    metadata["mean"].get<double>())));
  return out;
}

TableConfig numbered() {
  std::string text = "n,m,c\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + "," + std::to_string(i * i % 7) + "," + (i % 2 ? "odd\n" : "even\n");
  auto config = table_of(text, "c");
  *config.types = {{"n", "number"}};
  return config;
}

}  // namespace

TEST_CASE("a table is read as RFC 4180 has it, whatever separates its cells and ends its lines") {
  const Rows plain{{"1", "2"}, {"3", "4"}};
  for (const char* text :
       {"1,2\n3,4\n", "1,2\r\n3,4\r\n", "1,2\r3,4", "1;2\n3;4", "1\t2\n3\t4\n", " 1 , 2\n\n3,4\n  \n", "\"1\",\"2\"\n\"3\" ,4"})
    CHECK(cells_of(text) == plain);
  CHECK(cells_of("\"a,\"\"b\"\"\",\"two\r\nlines\"\n") == Rows{{"a,\"b\"", "two\r\nlines"}});
  CHECK(cells_of("5\",\"\"\n") == Rows{{"5\"", ""}});
  CHECK(cells_of("1,5;2,5\n") == Rows{{"1,5", "2,5"}});      // two columns are known
  CHECK(cells_of("\"x;y;z\",2\n") == Rows{{"x;y;z", "2"}});  // quoted separators do not count
  const auto csv = parse_csv("a;b\n\"1\n\n\";2\n3;4\n", {}, "t.csv");
  CHECK(csv.columns == std::vector<std::string>{"a", "b"});
  CHECK(csv.lines == std::vector<std::int64_t>{2, 5});
}

TEST_CASE("a row of another width and a quote that does not close are refused with their line") {
  CHECK_THAT(csv_error("a,b\n1,2\n3\n"), ContainsSubstring("t.csv:3: 1 cell in a table of 2 columns"));
  CHECK_THAT(csv_error("a,b\n\"1\n\",2,3\n4,5\n"), ContainsSubstring("t.csv:2: 3 cells in a table of 2 columns"));
  CHECK_THAT(csv_error("a,b\n1,\"2\n3,4\n"), ContainsSubstring("t.csv:2: a quoted cell does not end"));
  CHECK_THAT(csv_error("a,b\n1,\"2\"3\n"), ContainsSubstring("t.csv:2: text behind the quote"));
}

TEST_CASE("numbers are standardised by the training rows, categories are one-hot in sorted order") {
  const auto task = make_task(folds("", "y"), {{1, 2}});
  const auto shape = task->shape();
  CHECK((shape.input_width == 4 && shape.num_classes == 1 && shape.target == Target::vectors));
  const auto set = task->validation(10);
  REQUIRE(set.count == 2);
  // x: mean (1+2+3+6)/4 = 3, deviation √((4+1+0+9)/4) = √3.5; columns blue, green, red; y: mean 30, deviation √350.
  const double s = std::sqrt(3.5);
  const std::vector<double> expected{2 / s, 1, 0, 0, 0, 0, 0, 1};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(static_cast<double>(set.vectors[i]) - expected[i]) < 1e-6);
  CHECK(std::abs(static_cast<double>(set.values[0]) - 20 / std::sqrt(350)) < 1e-6);
  CHECK(std::abs(static_cast<double>(set.values[1]) + 30 / std::sqrt(350)) < 1e-6);
  CHECK(std::abs(task->target_unit(0) - std::sqrt(350)) < 1e-9);
  CHECK(task->constant_answer(0) == 0.0);
  const auto table = Json::parse(task->metadata(0).at("table"));
  CHECK(table["inputs"][0] == Json{{"column", "x"}, {"mean", 3.0}, {"deviation", s}});
  CHECK(table["inputs"][1] == Json{{"column", "color"}, {"values", {"blue", "green", "red"}}});
  CHECK(table["output"]["column"] == "y");
  const auto trained = trained_shape(folds("", "y"), task->metadata(0));
  CHECK((trained.input_width == 4 && trained.num_classes == 1 && trained.target == Target::vectors));
}

TEST_CASE("a label's classes are in sorted order, and the most frequent of the training rows is the constant answer") {
  auto config = folds("color", "");
  *config.ignore = {"y"};
  *config.types = {{"x", "category"}};
  const auto task = make_task(config, {{1, 2}});
  CHECK(task->shape().input_width == 5);  // 1, 2, 3, 5, 6
  CHECK(task->shape().num_classes == 3);
  const auto set = task->validation(10);
  CHECK(set.labels == std::vector<std::int64_t>{0, 2});
  CHECK(set.vectors == std::vector<float>{0, 0, 0, 1, 0, 0, 0, 1, 0, 0});
  CHECK(task->constant_answer(0) == 2.0);
  CHECK(trained_table(task->metadata(0)).columns.target.values == std::vector<std::string>{"blue", "green", "red"});
}

TEST_CASE("a column that is the same in all training rows becomes zeros") {
  const auto task = make_task(
      table_of("k,x,c\n0.1,1,a\n0.1,2,b\n0.1,3,a\n0.1,4,b\n0.1,5,a\n0.1,6,b\n0.1,7,b\n0.1,8,a\n0.1,9,b\n0.1,2,a\n", "c"), {{1, 2}});
  const auto set = task->batch(0, 0, 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(std::abs(set.vectors[2 * i]) < 1e-6f);
}

TEST_CASE("numbers far from 0 are standardised, and a constant is one however its mean is rounded") {
  std::string text = "t,k,c,fold\n";
  for (int i = 0; i < 8; ++i)
    text +=
        std::to_string(1'600'000'000'000'000'000 + 102'400 * i) + ",1e-17," + (i % 2 ? "a" : "b") + (i < 6 ? ",train\n" : ",validation\n");
  auto config = table_of(text, "c");
  config.split = "fold";
  const auto set = make_task(config, {{1, 2}})->validation(10);
  const double deviation = std::sqrt(35.0 / 12);  // of 0, …, 5
  CHECK(std::abs(static_cast<double>(set.vectors[0]) - 3.5 / deviation) < .01);
  CHECK(std::abs(static_cast<double>(set.vectors[2]) - 4.5 / deviation) < .01);
  CHECK((set.vectors[1] == 0 && set.vectors[3] == 0));
}

TEST_CASE("each seed holds out other rows, none of which it trains on") {
  auto config = numbered();
  const auto one = held_out_rows(config, 1), again = held_out_rows(config, 1), other = held_out_rows(config, 2);
  CHECK(one.size() == 10);
  CHECK(one == again);
  CHECK(one != other);
  const auto both = make_task(config, {{1, 0}, {2, 0}});
  const auto task = make_task(config, {{1, 0}});
  CHECK(both->batch(0, 3, 8).vectors == task->batch(0, 3, 8).vectors);  // a run alone and in a cohort
  CHECK_FALSE(both->validation(1000).shared);
  const auto scale = Json::parse(task->metadata(0).at("table"))["inputs"][0];
  std::set<int> trained;
  for (int step = 0; step < 40; ++step) {
    const auto batch = task->batch(0, step, 32);
    for (std::size_t i = 0; i < 32; ++i)
      trained.insert(static_cast<int>(
          std::lround(static_cast<double>(batch.vectors[2 * i]) * scale["deviation"].get<double>() + scale["mean"].get<double>())));
  }
  CHECK(trained.size() == 40);  // 1,280 draws of 40 rows: all of them
  for (const int row : one) CHECK(trained.count(row) == 0);
  config.split = "fixed";
  CHECK(held_out_rows(config, 1) == held_out_rows(config, 2));
  CHECK(make_task(config, {{1, 0}, {2, 0}})->validation(1000).shared);
  config.validation_fraction = 0.5;
  CHECK(held_out_rows(config, 1).size() == 25);
}

TEST_CASE("a file without a line of names, and one with a byte order mark, are read") {
  auto config = table_of(
      "\xEF\xBB\xBF"
      "1;2,5;a\n2;3,5;b\n3;4,5;a\n4;5,5;b\n5;6,5;a\n6;7,5;a\n7;1,0;a\n8;8,0;b\n9;9,9;b\n1;9,9;b\n",
      "c");
  *config.columns = {"x", "y", "c"};
  *config.types = {{"y", "category"}};
  CHECK(make_task(config, {{3, 2}})->shape().input_width == 10);
}

TEST_CASE("what cannot be learned from is refused, with its place or its key and what to do") {
  const std::string rows = "x,y,c\n1,2,a\n2,3,b\n3,4,a\n";
  const auto says = [](const TableConfig& config, const std::string& what, const std::string& hint) {
    const std::string found = refusal(config);
    CHECK_THAT(found, ContainsSubstring(what));
    CHECK_THAT(found, ContainsSubstring(hint));
  };
  says(table_of(rows + "4,,b\n", "c"), ":5, column y: the cell is empty; missing in 1 of 4 rows: y (1)", "task.ignore='[\"y\"]'");
  says(table_of(rows + "4,NA,b\n", "c"), ":5, column y: \"NA\" stands for a missing value", "in another way");
  says(table_of("x;y;c\n1;2,5;a\n2;3;b\n3;4;a\n", "c"), ":2, column y: the number \"2,5\" has a comma", "decimals with a point");
  says(table_of(rows, "", "c"), ":2, column c: \"a\" is not a number", "task.target= task.label=c");
  says(table_of(rows + "1e31,1,a\n", "c"), ":5, column x: the number 1e31 is too large", "scale");
  says(table_of("x,c\n1,a\n2,a\n3,a\n", "c"), "task.label: c has one class, \"a\"", "nothing to learn");
  says(table_of("x,c\n1,3\n2,3\n3,3\n", "", "c"), "task.target: c has the same number in every row", "nothing to learn");
  says(table_of("x,c\n1,1\n2,2\n3,3\n", "c"), "3 classes in 3 rows", "task.label= task.target=c");
  says(table_of("x,c,d\n1,a,A\n2,b,B\n3,a,A\n4,b,B\n", "c"), "column d says in every row what c is", "task.ignore='[\"d\"]'");
  says(table_of("x,c,d\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n", "c"), "column d says in every row what c is", "task.ignore");
  says(table_of("x,y,z\n1,5,5.0\n2,6,6\n3,7,7\n", "", "z"), "column y says in every row what z is", "task.ignore");
  says(table_of("id,x,c\nk1,1,a\nk2,2,b\nk3,1,a\nk4,3,b\n", "c"), "column id has another text in every row", "task.ignore='[\"id\"]'");
  says(table_of("x,c\n1,a\n2,a\n3,a\n4,a\n5,a\n6,a\n7,b\n8,b\n9,a\n1,a\n", "species"), "task.label: there is no column \"species\"",
       "the columns are x, c");
  says(table_of("1,2\n3,4\n5,6\n7,8\n", "1"), "the first line has numbers", "task.columns=");
  says(table_of("x,x\n3,4\n5,6\n7,8\n", "x"), "two columns are called \"x\"", "its own name");
  says(table_of("x,\n3,4\n5,6\n7,8\n", "x"), "column 2 has no name", "name it in the first line");
  says(table_of("", "c"), "the table is empty", "names the columns");
  says(table_of("x,c\n1,a\n2,b\n", "c"), "2 rows are too few", "hold out");
  says(table_of("c\na\nb\na\n", "c"), "no column is left to predict c from", "task.ignore");
  says(table_of("x,c\n1,\xE9\n", "c"), "is not valid UTF-8", "iconv");
  auto config = folds("", "y");
  config.split = "color";
  says(config, ":2, column color: \"red\" is neither train nor validation", "task.split=color");
  config = table_of("x,c,f\n1,a,train\n2,b,train\n3,a,train\n", "c");
  config.split = "f";
  says(config, "0 of 3 rows are held out", "change the column f");
  config = table_of("x,c,f\n1,a,train\n2,b,validation\n3,a,train\n4,b,validation\n", "c");
  config.split = "f";
  says(config, "the class b (2 of 4 rows) has no training row", "change the column f");
  config = folds("color", "");
  *config.types = {{"colour", "category"}};
  says(config, "task.types: there is no column \"colour\"; did you mean \"color\"?", "the columns are");
  for (const char* key : {"ignore", "types"}) {
    config = folds("color", "");
    if (*key == 'i') *config.ignore = {"color"};
    else *config.types = {{"color", "number"}};
    says(config, std::string("task.") + key + " names \"color\", which is the column to predict", "leave it out");
  }
  for (const char* word : {"NaN", "NA", "n/a", "<NA>", "#N/A", "None"})
    says(table_of("x,c\n1,a\n2,b\n1," + std::string(word) + "\n3,a\n", "c"),
         std::string(":4, column c: \"") + word + "\" stands for a missing", "in another way");
  says(table_of("x,c\n1,a\n2,b\n1,\n3,a\n", "c"), ":4, column c: the cell is empty", "task.missing=drop_rows");
  says(table_of("x,y\n1,2\n2,3\n1,NA\n3,4\n", "", "y"), ":4, column y: \"NA\" stands for a missing", "task.missing=drop_rows");
  std::string mostly = "x,y,c\n";
  for (int i = 0; i < 18; ++i) mostly += std::to_string(i % 5) + ",1," + (i % 3 ? "a\n" : "b\n");
  says(table_of(mostly + "12O,1,a\n5 kg,1,b\n", "c"), ":20, column x: \"12O\" is not a number, but most cells of the column are",
       "task.types='{\"x\":\"category\"}'");
  std::string wide = "t,u,c\n";
  for (int i = 0; i < 10'000; ++i) wide += "v" + std::to_string(i / 2) + ",1," + (i % 3 ? "a\n" : "b\n");
  says(table_of(wide, "c"), "column t has 5000 different texts in 10000 rows, such as \"v0\"", "task.types='{\"t\":\"category\"}'");
  config = table_of(wide, "c");
  *config.types = {{"t", "category"}};
  says(config, "5001 numbers to an example, of which 5000 for the values of t; at most 4096", "task.ignore");
}

TEST_CASE("a gap in what a user calls a category stays a gap, and texts in more than a tenth of a column make it one") {
  auto config = table_of("x,c\n1,NA\n2,EU\n1,NA\n3,None\n4,EU\n1,None\nNaN,US\n2,null\n3,None\n1,US\n", "c");
  *config.types = {{"c", "category"}, {"x", "category"}};
  CHECK_THAT(refusal(config), ContainsSubstring("missing in 7 of 10 rows: c (6), x (1)"));
  config.missing = "mean";
  CHECK_THAT(describe_data(config), ContainsSubstring("4 rows; categories: x (4); label: c (EU, US)"));
  std::string text = "x,c\n";
  for (int i = 0; i < 17; ++i) text += std::to_string(i % 5) + (i % 3 ? ",a\n" : ",b\n");
  CHECK_THAT(describe_data(table_of(text + "low,a\nlow,b\n", "c")), ContainsSubstring("categories: x (6)"));
}

TEST_CASE("a split that leaves a class without a training row is drawn again, the same alone and in a cohort") {
  std::string text = "x,c\n";
  for (int i = 0; i < 20; ++i) text += std::to_string(i) + (i == 0 ? ",rare\n" : i % 2 ? ",a\n" : ",b\n");
  auto config = table_of(text, "c");
  *config.types = {{"x", "number"}};
  std::vector<DataSeeds> all;
  for (std::uint64_t seed = 0; seed < 50; ++seed) all.push_back({seed, 0});
  const auto cohort = make_task(config, all);
  for (std::size_t seed = 0; seed < 50; ++seed) {
    const auto alone = make_task(config, {all[seed]});
    CHECK(alone->metadata(0) == cohort->metadata(seed));
    CHECK(alone->batch(0, 3, 8).labels == cohort->batch(seed, 3, 8).labels);
  }
  config.validation_fraction = 0.9;  // two rows cannot have three classes
  CHECK_THAT(refusal(config), ContainsSubstring("has no training row in 100 draws of a seed"));
  config.validation_fraction.reset();
  config.split = "fixed";  // one draw, which holds the one row out
  CHECK_THAT(refusal(config), ContainsSubstring("the class rare (1 of 20 rows) has no training row |"));
}

TEST_CASE("rows that repeat another one are held out with it or not at all") {
  std::string text = "n,m,c\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i % 23) + ",1.5," + (i % 23 % 2 ? "odd\n" : "even\n");
  auto config = table_of(text, "c");
  CHECK_THAT(describe_data(config), ContainsSubstring("; 27 rows repeat another one"));
  for (const char* split : {"per_seed", "fixed"}) {
    config.split = split;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto task = make_task(config, {{seed, 0}});
      const auto validation = task->validation(1000), training = task->batch(0, 0, 1000);
      CHECK(validation.count == 10);
      std::set<float> held_out;
      for (std::size_t i = 0; i < 10; ++i) held_out.insert(validation.vectors[2 * i]);
      CHECK(held_out.size() < 7);  // two or three rows each
      std::set<float> trained;
      for (std::size_t i = 0; i < 1000; ++i) trained.insert(training.vectors[2 * i]);
      CHECK(trained.size() + held_out.size() == 23);
      for (const float x : held_out) CHECK(trained.count(x) == 0);
    }
  }
  CHECK_THAT(describe_data(table_of("x,y,c\n1,2,a\n1,2,b\n3,2,a\n3,2,a\n", "c")), ContainsSubstring("; 1 row repeats another one"));
}

TEST_CASE("rows of which none repeats another are drawn as they were before repeats were looked for") {
  CHECK(held_out_rows(numbered(), 5) == std::vector<int>{37, 6, 49, 17, 41, 8, 32, 16, 13, 1});
}

TEST_CASE("a table's content is part of the identity, its place is not") {
  RunConfig one, same, other;
  one.task = table_of(kFolds, "color");
  same.task = table_of(kFolds, "color");
  other.task = table_of(kFolds + "7,red,1,train\n", "color");
  CHECK(run_identity(one) == run_identity(same));
  CHECK(run_identity(one) != run_identity(other));
  CHECK(make_task(one.task, {{1, 2}})->data_hash() == data_hash_now(one));
}

TEST_CASE("what was found in a table is said in a line") {
  CHECK(describe_data(folds("color", "")) == "6 rows; numbers: x, y; label: color (blue, green, red); split by fold");
  CHECK(describe_data(folds("", "y")) == "6 rows; numbers: x; categories: color (3); target: y; split by fold");
}
