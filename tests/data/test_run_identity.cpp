// Equal runs have equal identities, different runs different ones.
#include <set>

#include "config/helpers.hpp"
#include "ffn/data/run_identity.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

std::string identity(const std::string& text) { return run_identity(run_from(text)); }

}  // namespace

TEST_CASE("an identity is 16 hexadecimal digits and repeats") {
  const auto id = identity("{}");
  CHECK(id.size() == 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(identity("{}") == id);
}

TEST_CASE("order, comments, explicit defaults and the way of writing a number do not change an identity") {
  const auto id = identity(R"({"seed": 1, "train": {"steps": 50, "batch_size": 8}})");
  CHECK(identity(R"({"train": {"batch_size": 8, "steps": 50}, "seed": 1})") == id);
  CHECK(identity("// the same\n{\"seed\": 1, \"train\": {\"steps\": 5e1, \"batch_size\": 8.0}}") == id);
  CHECK(identity(R"({"seed": 1, "train": {"steps": 50, "batch_size": 8, "optimizer": {"kind": "adamw", "lr": 1e-3}, "target": null},
                     "model": {"attention": null, "ffn": {"kind": "positionwise", "d_ff": null}}, "task": {"kind": "xor", "bits": 2}})") ==
        id);
  CHECK(run_identity(run_from(resolved_json(run_from(R"({"seed": 1, "train": {"steps": 50, "batch_size": 8}})")).dump())) == id);
}

TEST_CASE("the hidden width counts, not the way it is written") {
  const auto id = identity(R"({"model": {"d_model": 8}})");
  CHECK(identity(R"({"model": {"d_model": 8, "ffn": {"expansion": 4}}})") == id);
  CHECK(identity(R"({"model": {"d_model": 8, "ffn": {"d_ff": 32}}})") == id);
  CHECK(identity(R"({"model": {"d_model": 8, "ffn": {"d_ff": 33}}})") != id);
  CHECK(identity(R"({"model": {"d_model": 8, "ffn": {"kind": "gated"}}})") ==
        identity(R"({"model": {"d_model": 8, "ffn": {"kind": "gated", "d_ff": 32}}})"));
}

TEST_CASE("name, logging and checkpoint interval do not change an identity") {
  const auto id = identity("{}");
  CHECK(identity(R"({"name": "other"})") == id);
  CHECK(identity(R"({"train": {"checkpoint_every": 7}})") == id);
  CHECK(identity(R"({"log": {"layers": true}})") == id);
}

TEST_CASE("an identity is of what differs from the defaults") {
  CHECK(dump_json(identity_json(run_from(R"({"seed": 3, "model": {"d_model": 8, "attention": {}}, "train": {"batch_size": 8}})"), "")) ==
        R"({"model.attention":true,"model.d_model":8,"model.ffn[positionwise].d_ff":32,"seed":3,"train.batch_size":8})");
  RunConfig config;
  config.model.ffn = MoeConfig();
  std::get<MoeConfig>(config.model.ffn).router = SigmoidTopKConfig();
  config.train.optimizer = SgdConfig();
  CHECK(dump_json(identity_json(config, "")) == R"({"model.ffn.kind":"moe","model.ffn[moe].d_ff":128,)"
                                                R"("model.ffn[moe].router.kind":"sigmoid_top_k","seed":0,"train.optimizer.kind":"sgd"})");
}

TEST_CASE("an empty lr_scale and a sequence's name do not count") {
  CHECK(identity(R"({"train": {"optimizer": {"lr_scale": {}}}})") == identity("{}"));
  CHECK(identity(R"({"task": {"kind": "sequence", "name": "sequence_xor"}})") ==
        identity(R"({"task": {"kind": "sequence", "label": "s[t-1] ^ s[t-2]"}})"));
}

TEST_CASE("whatever changes the result changes the identity") {
  std::set<std::string> seen = {identity("{}")};
  std::size_t count = 1;
  for (const char* text : {
           R"({"seed": 1})",
           R"({"train": {"steps": 999}})",
           R"({"train": {"batch_size": 65}})",
           R"({"train": {"eval_every": 99}})",
           R"({"train": {"eval_examples": 511}})",
           R"({"train": {"clip_norm": 1}})",
           R"({"train": {"optimizer": {"lr": 0.0010000000000000002}}})",
           R"({"train": {"optimizer": {"lr_scale": {"head": 0}}}})",
           R"({"train": {"optimizer": {"lr_scale": {"head": 1}}}})",
           R"({"train": {"optimizer": {"kind": "muon"}}})",
           R"({"train": {"optimizer": {"kind": "muon", "adam_lr": 0.002}}})",
           R"({"model": {"init_scale": {"head": 0}}})",
           R"({"model": {"init": "mup", "base_d_ff": 64}})",
           R"({"model": {"init": "mup", "base_d_ff": 65}})",
           R"({"task": {"kind": "facts"}})",
           R"({"task": {"kind": "facts", "values": 33}})",
           R"({"task": {"kind": "sequence", "label": "s[t-1]"}})",
           R"({"task": {"kind": "sequence", "label": "s[t-1]", "scored": "t > 2"}})",
           R"({"train": {"optimizer": {"kind": "adam"}}})",
           R"({"train": {"optimizer": {"weight_decay": 0.02}}})",
           R"({"train": {"schedule": {"kind": "cosine"}}})",
           R"({"train": {"schedule": {"warmup_steps": 1}}})",
           R"({"train": {"target": {"at_least": 0.9}}})",
           R"({"model": {"d_model": 33}})",
           R"({"model": {"blocks": 2}})",
           R"({"model": {"residual": true}})",
           R"({"model": {"norm": {"kind": "rms"}}})",
           R"({"model": {"attention": {}}})",
           R"({"model": {"attention": {}, "ffn": {"kind": "none"}}})",
           R"({"model": {"positions": "sinusoidal"}})",
           R"({"model": {"attention": {}, "positions": "rotary"}})",
           R"({"model": {"attention": {"rotary_base": 500}, "positions": "rotary"}})",
           R"({"model": {"attention": {"rotary_layout": "pairs"}, "positions": "rotary"}})",
           R"({"model": {"attention": {"qk_norm": true}}})",
           R"({"model": {"attention": {}, "parallel": true}})",
           R"({"model": {"share_ffn": true}})",
           R"({"model": {"ffn": {"activation": "relu"}}})",
           R"({"model": {"ffn": {"kind": "gated"}}})",
           R"({"model": {"ffn": {"kind": "moe"}}})",
           R"({"model": {"ffn": {"bias": false}}})",
           R"({"model": {"ffn": {"dropout": 0.1}}})",
           R"({"model": {"ffn": {"expansion": 2}}})",
           R"({"task": {"bits": 3}})",
           R"({"task": {"kind": "sequence_xor"}})",
       }) {
    CAPTURE(text);
    CHECK(seen.insert(identity(text)).second);
    ++count;
  }
  CHECK(seen.size() == count);
  CHECK(count == 45);
}

TEST_CASE("the identities of several seeds are those of each alone") {
  const auto of_seed = [](std::int64_t seed) { return run_from(R"({"seed": )" + std::to_string(seed) + "}"); };
  for (const std::int64_t start : {0, 1})
    CHECK(run_identities(of_seed(start), "", {0, 1}) == std::vector<std::string>{run_identity(of_seed(0)), run_identity(of_seed(1))});
}

TEST_CASE("a text counts by its content, not by its place") {
  const ScratchDirectory scratch;
  const std::string text = repeated("to be or not to be\n", 100);
  const auto identity_of = [&](const std::string& name, const std::string& content) {
    RunConfig config;
    config.task.emplace<TextConfig>(TextConfig{scratch.write(name, content), 8, 0.1});
    return run_identity(config);
  };
  const auto id = identity_of("a.txt", text);
  CHECK(identity_of("elsewhere/b.txt", text) == id);
  CHECK(identity_of("a.txt", text + "!") != id);
}

TEST_CASE("a task's data files are the paths among its fields") {
  CHECK(data_files(XorConfig{}).empty());
  const auto files = data_files(TextConfig{"some/text.txt", 8, 0.1});
  REQUIRE(files.size() == 1);
  CHECK((files[0].key == "file" && files[0].path == "some/text.txt"));
}

TEST_CASE("a missing text is an error with its path") {
  RunConfig config;
  config.task = TextConfig{"/no/such/text.txt", 8, 0.1};
  CHECK(message<DataError>([&] { run_identity(config); }) == "no text file at /no/such/text.txt");
  config.task.emplace<TableConfig>().file = "/no/such/table.csv";
  CHECK(message<DataError>([&] { run_identity(config); }) == "no table at /no/such/table.csv");
}

TEST_CASE("runs that differ in seed, rate, decay or dropout alone share a cohort") {
  const auto key = [](const std::string& text) { return cohort_key(run_from(text)); };
  const auto base = key("{}");
  CHECK(key(R"({"name": "other", "seed": 5, "train": {"optimizer": {"lr": 1, "weight_decay": 0}}, "model": {"ffn": {"dropout": 0.5}}})") ==
        base);
  std::set<std::string> seen = {base};
  std::size_t count = 1;
  for (const char* text :
       {R"({"train": {"steps": 999}})", R"({"train": {"batch_size": 65}})", R"({"train": {"optimizer": {"kind": "sgd"}}})",
        R"({"train": {"optimizer": {"beta1": 0.8}}})", R"({"train": {"schedule": {"kind": "wsd"}}})", R"({"model": {"d_model": 33}})",
        R"({"model": {"ffn": {"activation": "relu"}}})", R"({"model": {"ffn": {"kind": "none"}}})", R"({"task": {"bits": 3}})"}) {
    CAPTURE(text);
    CHECK(seen.insert(key(text)).second);
    ++count;
  }
  CHECK(count == 10);
}
