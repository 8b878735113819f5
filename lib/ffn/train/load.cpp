// Opens libffn_torch.so on demand. Torch-free: this is the program's side of the boundary.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "ffn/base/error.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

std::function<void(LogLevel, const std::string&)>& log_sink() {
  static std::function<void(LogLevel, const std::string&)> sink;
  return sink;
}

#ifndef FFN_WITHOUT_TORCH

// Never below the current directory, which anyone may have filled.
fs::path engine_path() {
  const char* given = std::getenv("FFN_TRAIN_ENGINE");
  if (given && *given) {
    if (fs::path(given).is_absolute()) return given;
    throw SystemError(std::string("FFN_TRAIN_ENGINE is no absolute path: ") + given, "write it from / on: the library is code that is run");
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw SystemError(
        "cannot find libffn_torch.so: /proc/self/exe, which says where this program is, cannot be read (" + error.message() + ")",
        "set FFN_TRAIN_ENGINE to the library's path");
  }
  const fs::path bin = program.parent_path();
  for (const fs::path& candidate : {bin / "libffn_torch.so", bin.parent_path() / FFN_ENGINE_INSTALL_DIR / "libffn_torch.so"}) {
    if (fs::exists(candidate, error)) return candidate;
  }
  throw SystemError("cannot find libffn_torch.so next to " + program.string(),
                    "rebuild or reinstall, or set FFN_TRAIN_ENGINE to the library's path");
}

// One thread per process (reference: intra-op threading loses at these sizes, two spinning processes lose most).
// OpenBLAS and OpenMP read these when they are loaded, so they have to be set before; an explicit choice of the user stays.
void set_up_environment() {
  for (const char* variable : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) ::setenv(variable, "1", /*overwrite=*/0);
  // Without a workspace of fixed size, products on a GPU may take another algorithm from one time to the next; read with the
  // first product. And nothing outside the config switches TF32 on.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  ::unsetenv("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE");
}

// Undoes what libraries do to our signals while they are loaded. UCX, which Debian's LibTorch 2.x brings along through MPI,
// takes SIGHUP and the crash signals for its own debugging: a closed terminal would no longer stop a study.
class KeptSignals {
 public:
  KeptSignals() {
    for (std::size_t signal = 1; signal < before_.size(); ++signal) ::sigaction(static_cast<int>(signal), nullptr, &before_[signal]);
  }
  ~KeptSignals() {  // refused, as it should be, for SIGKILL, SIGSTOP and those of the C library
    for (std::size_t signal = 1; signal < before_.size(); ++signal) ::sigaction(static_cast<int>(signal), &before_[signal], nullptr);
  }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  std::array<struct sigaction, NSIG> before_ = {};
};

// The loader maps a library without checking its length: a truncated file ends in SIGBUS. The
// linker writes the table of sections last. (The loader itself refuses files that are not ELF.)
void check_whole(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  ElfW(Ehdr) header = {};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  const std::uintmax_t sections = std::uintmax_t{header.e_shnum} * header.e_shentsize;
  std::uintmax_t needed = header.e_shoff > UINTMAX_MAX - sections ? UINTMAX_MAX : header.e_shoff + sections;
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part = {};
    if (!in.read(reinterpret_cast<char*>(&part), sizeof part)) needed = UINTMAX_MAX;
    else if (part.p_type == PT_LOAD)
      needed = std::max<std::uintmax_t>(needed, part.p_filesz > UINTMAX_MAX - part.p_offset ? UINTMAX_MAX : part.p_offset + part.p_filesz);
  }
  if (!error && size < needed) {
    throw SystemError(path.string() + " is cut off: " + std::to_string(size) + " bytes, and it describes more",
                      "rebuild or reinstall ffn-train");
  }
}

// LibTorch's pthreadpool starts a thread for each further core, whatever number is asked for, and waits for ever where it does not
// get one.
void check_threads() {
  const auto wanted = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN) - 1));
  std::vector<std::thread> threads;
  std::string problem;
  std::mutex all_at_once;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  {
    const std::lock_guard<std::mutex> hold(all_at_once);
    try {
      while (threads.size() < wanted) threads.emplace_back([&] { const std::lock_guard<std::mutex> wait(all_at_once); });
    } catch (const std::system_error& error) {
      problem = error.code().message();
    }
  }
  for (auto& thread : threads) thread.join();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (problem.empty()) return;
  throw SystemError("cannot load LibTorch, which starts " + std::to_string(wanted) + (wanted == 1 ? " thread" : " threads") + ": only " +
                        std::to_string(threads.size()) + " can be started (" + problem + ")",
                    "raise the limit (ulimit -u, or that of the container); --engine cpu trains without LibTorch");
}

void* open_library(const fs::path& path) {
  const KeptSignals kept;
  return ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

LibTorch& open_engine() {
  set_up_environment();
  const fs::path path = engine_path();
  check_whole(path);
  check_threads();
  void* library = open_library(path);
  if (!library) {
    throw SystemError(std::string("cannot load the LibTorch part of ffn-train: ") + ::dlerror(),
                      "LibTorch has to be installed as it was when ffn-train was built; the README's install command does that");
  }
  const auto create = reinterpret_cast<CreateLibTorch>(::dlsym(library, kCreateLibTorchSymbol));
  LibTorch* engine = create ? create(kInterfaceVersion) : nullptr;
  if (!engine) throw SystemError(path.string() + " belongs to another version of ffn-train", "rebuild or reinstall both");
  if (log_sink()) engine->set_log(log_sink());
  return *engine;
}

#endif

}  // namespace

void log_libtorch_with(std::function<void(LogLevel, const std::string&)> log) { log_sink() = std::move(log); }

LibTorch& load_libtorch() {
#ifdef FFN_WITHOUT_TORCH
  throw SystemError("this ffn-train was built without LibTorch (FFN_WITH_TORCH=OFF)",
                    "build it from source with -DFFN_WITH_TORCH=ON; the cpu engine needs no LibTorch");
#else
  static LibTorch& engine = open_engine();
  return engine;
#endif
}

}  // namespace ffn
