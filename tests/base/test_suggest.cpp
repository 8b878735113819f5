// Distances and suggestions.
#include "ffn/base/suggest.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("the edit distance counts insertions, deletions, substitutions and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("steps", "steps") == 0);
  CHECK(edit_distance("steps", "step") == 1);
  CHECK(edit_distance("steps", "stepps") == 1);
  CHECK(edit_distance("steps", "stops") == 1);
  CHECK(edit_distance("steps", "stpes") == 1);  // a swap
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ca", "abc") == 3);  // optimal string alignment: no edit inside a swapped pair
  CHECK(edit_distance("abc", "ca") == 3);
}

TEST_CASE("the nearest name is suggested for ordinary slips") {
  const std::vector<std::string> names = {"steps", "batch_size", "eval_every", "optimizer", "schedule", "lr"};
  CHECK(nearest("step", names) == "steps");
  CHECK(nearest("stpes", names) == "steps");
  CHECK(nearest("batchsize", names) == "batch_size");
  CHECK(nearest("batch-size", names) == "batch_size");
  CHECK(nearest("optimiser", names) == "optimizer");
  CHECK(nearest("eval", names) == "eval_every");  // its beginning
  CHECK(nearest("l", names) == "lr");
}

TEST_CASE("a difference in case alone is the nearest of all") {
  const std::vector<std::string> names = {"identity", "relu", "relu2", "gelu", "silu", "d_model"};
  CHECK(nearest("ReLU", names) == "relu");
  CHECK(nearest("GELU", names) == "gelu");
  CHECK(nearest("SiLU", names) == "silu");
  CHECK(nearest("D_MODEL", names) == "d_model");
}

TEST_CASE("nothing is suggested when nothing is near") {
  const std::vector<std::string> names = {"steps", "batch_size", "lr"};
  CHECK(nearest("", names) == "");
  CHECK(nearest("zzz", names) == "");
  CHECK(nearest("learning_speed", names) == "");
  CHECK(nearest("st", names) == "");  // too short to be told from chance
  CHECK(nearest("steps", {}) == "");
  CHECK(nearest(std::string(1'000'000, 's'), names) == "");
}

TEST_CASE("suggestions are ready to be put into a sentence") {
  CHECK(did_you_mean("step", {"steps"}) == "; did you mean \"steps\"?");
  CHECK(did_you_mean("zzz", {"steps"}) == "");
  CHECK(did_you_mean("loss", {"train/loss", "val/loss", "lost"}) == "; did you mean \"train/loss\" or \"val/loss\"?");
}
