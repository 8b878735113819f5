// Damaged tables: a task that gives batches, or an error for the user, never anything else.
#include <cmath>

#include "base/helpers.hpp"
#include "ffn/data/table.hpp"
#include "fuzz/damage.hpp"

using namespace ffn;

namespace {

// Pieces that tables are made of, so that damage often makes another table.
const char* const kCells[] = {",",    ";",      "\t", "\"", "\"\"", "\n",           "\r\n",     "\r",  "NA",
                              "1e31", "1e-320", "-",  "0",  "a",    "\xEF\xBB\xBF", "\xC3\xA9", ",\n", "1,5"};

std::string damaged_table(RandomStream& random) {
  const char separator = ",;\t"[fuzz::index(random, 3)];
  std::string text;
  const auto cell = [&](const std::string& content, char end) {
    text += (fuzz::index(random, 8) == 0 ? '"' + content + '"' : content) + end;
  };
  cell("x", separator);
  cell("color", separator);
  cell("y", '\n');
  for (std::size_t row = 0, rows = 3 + fuzz::index(random, 12); row < rows; ++row) {
    cell(std::to_string(fuzz::index(random, 100)) + (fuzz::index(random, 2) ? ".5" : ""), separator);
    cell(fuzz::index(random, 2) ? "red" : "blue", separator);
    cell(std::to_string(fuzz::index(random, 3)), '\n');
  }
  if (fuzz::index(random, 4) == 0) return fuzz::damaged(text, random, 2);
  for (std::size_t damages = fuzz::index(random, 4); damages > 0; --damages)
    text.insert(fuzz::index(random, text.size() + 1), kCells[fuzz::index(random, std::size(kCells))]);
  return text;
}

}  // namespace

TEST_CASE("a damaged table is trained on or refused with its file, never worse") {
  const test::ScratchDirectory scratch;
  TableConfig config;
  const auto tally = fuzz::attempt(
      10'000, 7,
      [&](RandomStream& random) {
        const bool is_label = random.below(2) == 0;
        config.label = is_label ? "y" : "";
        config.target = is_label ? "" : "y";
        return damaged_table(random);
      },
      [&](const std::string& bytes) {
        std::filesystem::remove(config.file);  // ext4 waits for the disk where a file is written over
        config.file = scratch.write(config.file == scratch / "a.csv" ? "b.csv" : "a.csv", bytes);  // the last file read is kept
        try {
          const auto task = make_task(config, {{1, 2}});
          const auto shape = task->shape();
          for (const auto& set : {task->batch(0, 0, 8), task->validation(100)}) {
            REQUIRE(set.vectors.size() == static_cast<std::size_t>(set.count * shape.input_width));
            for (const float x : set.vectors) REQUIRE(!std::isnan(x));
            for (const float y : set.values) REQUIRE(!std::isnan(y));
            for (const auto label : set.labels) REQUIRE((label >= 0 && label < shape.num_classes));
          }
          const auto trained = trained_shape(config, task->metadata(0));
          REQUIRE((trained.input_width == shape.input_width && trained.num_classes == shape.num_classes));
        } catch (const Error& error) {
          REQUIRE(std::string(error.what()).find(config.file) != std::string::npos);
          REQUIRE(!error.hint().empty());
          throw;
        }
      });
  CHECK(tally.read > 1'000);
  CHECK(tally.refused > 1'000);
}
