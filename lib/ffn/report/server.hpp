// A page of one's own for a browser on this machine: one address, one thread, nobody who is slow in anyone's way. Depends on core.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>

#include "ffn/report/request.hpp"

namespace ffn::serve {

class Server {
 public:
  /// Binds a free port of 127.0.0.1. Throws SystemError.
  Server();
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// In a child process: the connections are its parent's.
  void leave();

  /// "http://127.0.0.1:40123/0123…/"
  std::string address() const;

  /// What stands at a path behind the token.
  using Site = std::function<Response(const std::string& path, const std::string& query)>;

  /// Answers what has come and waits at most this long for more; ends early on a signal.
  void serve(const Site& site, std::chrono::milliseconds wait);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { reading, writing, draining };
  struct Connection {
    int fd;
    Clock::time_point until;  ///< patience with this state
    State state = State::reading;
    std::string in = {}, out = {};
    std::size_t sent = 0;
  };

  void accept_all();
  /// False where the connection is over.
  bool go_on(Connection& connection, const Site& site);
  bool read(Connection& connection, const Site& site);
  void answer(Connection& connection, const Response& response);
  bool write(Connection& connection);
  bool drain(Connection& connection);

  int listening_ = -1, port_ = 0;
  Clock::time_point accepts_from_{};  ///< later than now where there were no descriptors
  std::string token_;
  std::list<Connection> connections_;  ///< the oldest first
};

}  // namespace ffn::serve
