// Work that makes a text, in a process of its own at low priority: what it takes goes back with it, and nobody has to wait for it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace ffn::app {

class RenderAside {
 public:
  RenderAside() = default;
  ~RenderAside();
  RenderAside(const RenderAside&) = delete;
  RenderAside& operator=(const RenderAside&) = delete;

  struct Result {
    std::optional<std::string> text;
    std::string error;  ///< why there is none
  };

  /// Where none is at work. Both run in the child: `first` before `make`.
  void start(const std::function<void()>& first, const std::function<std::string()>& make);
  bool is_working() const { return child_ > 0; }
  /// What has come of it, once it is through.
  std::optional<Result> poll();

 private:
  pid_t child_ = -1;
  int pipe_ = -1;
  std::string received_;
};

}  // namespace ffn::app
