// The file and line of a problem, and where a relative path starts, when values come from several files and overrides.
#include "config/helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

TEST_CASE("a problem in a base stands in the base, one in the file in the file, one in an override in the override") {
  const ScratchDirectory scratch;
  scratch.write("base.json", "{\n\"seed\": -1,\n\"train\": {\"steps\": 0,\n\"batch_size\": 0}}");
  const auto file = scratch.write("run.json", "{\"extends\": \"base.json\",\n\n\"train\": {\"steps\": 3.7}}");
  CHECK(problems_of([&] { run_from_file(file, {"train.eval_every=never"}); }) ==
        scratch / "base.json:2  /seed: -1 is out of range; expected at least 0\n" + file +
            ":3  /train/steps: expected an integer, got 3.7\n" +
            scratch / "base.json:4  /train/batch_size: 0 is out of range; expected between 1 and 1048576\n" +
            "override 'train.eval_every=never'  /train/eval_every: expected an integer, got \"never\"");
}

TEST_CASE("an override mends what a file has wrong, and the last one wins") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("run.json", R"({"train": {"steps": -5}})");
  CHECK(run_from_file(file, {"train.steps=7"}).train.steps == 7);
  CHECK(run_from_file(file, {"train.steps=no", "train.steps=8"}).train.steps == 8);
}

TEST_CASE("overrides win over the file, the file over its base, the base over the default") {
  const ScratchDirectory scratch;
  scratch.write("base.json", R"({"seed": 1, "train": {"steps": 1, "batch_size": 1, "eval_every": 1}})");
  const auto file = scratch.write("run.json", R"({"extends": "base.json", "train": {"steps": 2, "batch_size": 2}})");
  const auto config = run_from_file(file, {"train.steps=3"});
  CHECK(config.train.steps == 3);
  CHECK(config.train.batch_size == 2);
  CHECK(config.train.eval_every == 1);
  CHECK(config.train.eval_examples == 512);
}

TEST_CASE("a mistyped section in an override is the override's mistake") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("run.json", "{\n\"train\": {\"steps\": 1}}");
  CHECK(problems_of([&] { run_from_file(file, {"train.tarjet.at_least=0.9"}); }) ==
        "override 'train.tarjet.at_least=0.9'  /train/tarjet: unknown key \"tarjet\"; did you mean \"target\"?");
  CHECK(problems_of([&] { run_from_file(file, {"trian.steps=5"}); }) ==
        "override 'trian.steps=5'  /trian: unknown key \"trian\"; did you mean \"train\"?");
}

TEST_CASE("an object given by an override brings its own places") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("run.json", "{\"model\": {\n\"ffn\": {\n\"kind\": \"moe\", \"d_ff\": 8}}}");
  const std::string assignment = "model.ffn={\"kind\": \"gated\", \"d_ff\": 0}";
  CHECK(problems_of([&] { run_from_file(file, {assignment}); }) ==
        "override '" + assignment + "'  /model/ffn/d_ff: 0 is out of range; expected between 1 and 1048576");
}

TEST_CASE("a relative text file starts at the file that names it") {
  const ScratchDirectory scratch;
  scratch.write("bases/base.json", R"({"task": {"kind": "text", "file": "texts/a.txt"}})");
  const auto inherits = scratch.write("runs/inherits.json", R"({"extends": "../bases/base.json"})");
  const auto replaces = scratch.write("runs/replaces.json", R"({"extends": "../bases/base.json", "task": {"file": "../texts/b.txt"}})");
  const auto file_of = [](const RunConfig& config) { return std::get<TextConfig>(config.task).file; };
  CHECK(file_of(run_from_file(inherits)) == scratch / "bases/texts/a.txt");
  CHECK(file_of(run_from_file(replaces)) == scratch / "texts/b.txt");
  CHECK(file_of(run_from_file(replaces, {"task.file=/absolute/c.txt"})) == "/absolute/c.txt");
  const CurrentDirectory here(scratch.path());
  CHECK(file_of(run_from_file("runs/inherits.json")) == scratch / "bases/texts/a.txt");
  CHECK(file_of(run_from_file(inherits, {"task.file=c.txt"})) == scratch / "c.txt");
  CHECK(file_of(run_from_file(inherits, {R"(task={"kind": "text", "file": "c.txt"})"})) == scratch / "c.txt");
  CHECK(file_of(run_from_file(inherits, {"task.file=./sub/../c.txt"})) == scratch / "c.txt");
}

TEST_CASE("an override opens a section that was null or absent") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("run.json", R"({"model": {"attention": null}})");
  CHECK(run_from_file(file, {"model.attention.heads=2"}).model.attention->heads == 2);
  CHECK(run_from_file(file, {"train.target.at_least=0.5"}).train.target->at_least == 0.5);
  CHECK(!run_from_file(file, {"model.attention.heads=2", "model.attention=null"}).model.attention);
}

TEST_CASE("an empty string is a value like any other") {
  const ScratchDirectory scratch;
  const auto file = scratch.write("run.json", "{}");
  CHECK(problems_of([&] { run_from_file(file, {"name="}); }) ==
        "override 'name='  /name: \"\" is not a directory name; use up to 128 letters, digits and -_.+=, not starting with a dot or dash");
}
