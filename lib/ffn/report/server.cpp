#include "ffn/report/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "ffn/base/error.hpp"

namespace ffn::serve {

namespace {

constexpr std::size_t kLongestHead = 8192, kMostConnections = 32;
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{500};
constexpr std::chrono::seconds kPatienceReading{5}, kPatienceWriting{30}, kPatienceDraining{1};

[[noreturn]] void refuse(const char* what) { throw SystemError(std::string("cannot ") + what + " on 127.0.0.1: " + std::strerror(errno)); }

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Server::Server() : token_(new_token()) {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listening_ < 0) refuse("open a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);  // port 0: any that is free
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listening_, generic, size) != 0 || ::listen(listening_, 16) != 0 || ::getsockname(listening_, generic, &size) != 0) {
    const int reason = errno;
    ::close(listening_);
    errno = reason;
    refuse("listen");
  }
  port_ = ntohs(address.sin_port);
}

Server::~Server() { leave(); }

void Server::leave() {
  for (const auto& connection : connections_) ::close(connection.fd);
  connections_.clear();
  if (listening_ >= 0) ::close(listening_);
  listening_ = -1;
}

std::string Server::address() const { return "http://127.0.0.1:" + std::to_string(port_) + "/" + token_ + "/"; }

void Server::serve(const Site& site, std::chrono::milliseconds wait) {
  const bool accepts = Clock::now() >= accepts_from_;
  std::vector<pollfd> watched = {{accepts ? listening_ : -1, POLLIN, 0}};
  for (const auto& c : connections_) watched.push_back({c.fd, static_cast<short>(c.state == State::writing ? POLLOUT : POLLIN), 0});
  if (::poll(watched.data(), watched.size(), static_cast<int>(wait.count())) < 0) return;  // a signal
  std::size_t next = 1;
  for (auto c = connections_.begin(); c != connections_.end();) {
    const bool ready = watched[next++].revents != 0;
    const bool goes_on = (!ready || go_on(*c, site)) && Clock::now() < c->until;
    if (goes_on) {
      ++c;
    } else {
      ::close(c->fd);
      c = connections_.erase(c);
    }
  }
  if (watched[0].revents != 0) accept_all();
}

void Server::accept_all() {
  for (;;) {
    const int fd = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && !would_block()) accepts_from_ = Clock::now() + kPauseWithoutDescriptors;  // those that wait keep poll() from waiting
    if (fd < 0) return;
    if (connections_.size() == kMostConnections) {  // the one that has taken the longest makes room
      ::close(connections_.front().fd);
      connections_.pop_front();
    }
    connections_.push_back({fd, Clock::now() + kPatienceReading});
  }
}

bool Server::go_on(Connection& c, const Site& site) {
  switch (c.state) {
    case State::reading:
      return read(c, site);
    case State::writing:
      return write(c);
    case State::draining:
      return drain(c);
  }
  return false;
}

bool Server::read(Connection& c, const Site& site) {
  char bytes[4096];
  const ssize_t n = ::recv(c.fd, bytes, sizeof bytes, 0);
  if (n < 0) return would_block();
  if (n == 0) return false;
  c.in.append(bytes, static_cast<std::size_t>(n));
  const auto end = c.in.find("\r\n\r\n");
  if (end == std::string::npos && c.in.size() <= kLongestHead) return true;
  if (end == std::string::npos || end > kLongestHead) {
    answer(c, {431});
  } else {
    const auto request = read_request(c.in.substr(0, end + 4), token_, port_);
    answer(c, request.refused != 0 ? Response{request.refused} : site(request.path, request.query));
  }
  return write(c);
}

void Server::answer(Connection& c, const Response& response) {
  c.out = response_bytes(response);
  c.in.clear();
  c.state = State::writing;
  c.until = Clock::now() + kPatienceWriting;
}

bool Server::write(Connection& c) {
  while (c.sent < c.out.size()) {
    const ssize_t n = ::send(c.fd, c.out.data() + c.sent, c.out.size() - c.sent, MSG_NOSIGNAL);
    if (n < 0) return would_block();
    c.sent += static_cast<std::size_t>(n);
  }
  // Closed at once with something unread, the connection would be reset and the answer lost.
  ::shutdown(c.fd, SHUT_WR);
  c.state = State::draining;
  c.until = Clock::now() + kPatienceDraining;
  return true;
}

bool Server::drain(Connection& c) {
  char bytes[4096];
  const ssize_t n = ::recv(c.fd, bytes, sizeof bytes, 0);
  return n > 0 || (n < 0 && would_block());
}

}  // namespace ffn::serve
