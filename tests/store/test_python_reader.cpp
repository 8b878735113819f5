// Our files in other hands: read_safetensors.py knows the format's specification and nothing of our code.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "ffn/base/safetensors.hpp"
#include "ffn/store/run_directory.hpp"
#include "store/runs.hpp"
#include "store/scratch.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

struct Answer {
  int status = -1;
  std::string text;  // stdout and stderr
};

Answer ask(const std::string& command) {
  Answer answer;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return answer;
  std::array<char, 4096> buffer;
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe)) answer.text.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

Answer python_reads(const std::filesystem::path& file, const std::string& arguments = "") {
  const auto script = std::filesystem::path(FFN_SOURCE_DIR) / "tests/store/read_safetensors.py";
  return ask("python3 '" + script.string() + "' '" + file.string() + "' " + arguments);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

bool have_python() {
  const bool found = ask("python3 --version").status == 0;
  if (!found) WARN("no python3 on this machine: the files are not read by another program");
  return found;
}

}  // namespace

TEST_CASE("Python reads every dtype that we write, with the values that we meant") {
  if (!have_python()) return;
  const ScratchDirectory scratch;
  TensorFile file;
  file.tensors = {{"b.weight", DType::f32, {2, 2}, bytes_of<float>({1.5f, -2.0f, 0.1f, 1e6f})},
                  {"a", DType::f64, {5}, bytes_of<double>({0.25, 1, 2, 3, 4})},
                  {"i", DType::i32, {}, bytes_of<std::int32_t>({-7})},
                  {"l", DType::i64, {1}, bytes_of<std::int64_t>({1'234'567'890})},
                  {"u", DType::u8, {0, 3}, ""}};
  put(scratch.path() / "all.safetensors", safetensors_bytes(file));

  const Answer answer = python_reads(scratch.path() / "all.safetensors");

  CHECK(answer.text ==
        "metadata: none\n"
        "l  I64  [1]  [1234567890]\n"
        "a  F64  [5]  [0.25, 1, 2, 3, ...]\n"
        "b.weight  F32  [2, 2]  [1.5, -2, 0.100000001, 1000000]\n"
        "i  I32  []  [-7]\n"
        "u  U8  [0, 3]  []\n");
  CHECK(answer.status == 0);
}

TEST_CASE("Python finds the config in a run's weights") {
  if (!have_python()) return;
  const ScratchDirectory scratch;
  const RunDirectory run(scratch.path());
  run.write_weights(run.weights_path(), resolved_json(small_run(3)), "0123456789abcdef", 400, some_weights(), {});

  const Answer config = python_reads(run.weights_path(), "--metadata config");

  CHECK(config.status == 0);
  CHECK(Json::parse(config.text) == resolved_json(small_run(3)));
  CHECK(python_reads(run.weights_path()).text.rfind("metadata: config, ffn_checksum, format, identity, schema_version, step\n", 0) == 0);
}

TEST_CASE("Python refuses a file that was cut, so that reading one means something") {
  if (!have_python()) return;
  const ScratchDirectory scratch;
  const auto path = scratch.path() / "cut.safetensors";
  const std::string whole = safetensors_bytes({some_weights(), {}});
  put(path, whole.substr(0, whole.size() - 1));

  const Answer answer = python_reads(path);

  CHECK(answer.status == 1);
  CHECK(answer.text == path.string() + ": head.weight: data_offsets [0, 8] outside the data (7 bytes)\n");
}
