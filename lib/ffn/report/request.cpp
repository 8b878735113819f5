#include "ffn/report/request.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "ffn/base/error.hpp"

namespace ffn::serve {

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The lines, without CR LF; the blank one at the end left out. Nothing for a head with other line ends.
std::vector<std::string> lines_of(const std::string& head) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < head.size();) {
    const auto end = head.find("\r\n", at);
    if (end == std::string::npos) return {};
    const std::string line = head.substr(at, end - at);
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; })) return {};
    at = end + 2;
    if (!line.empty()) out.push_back(line);
  }
  return out;
}

const char* reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Error";
  }
}

}  // namespace

std::string new_token() {
  unsigned char bytes[16];
  for (std::size_t done = 0; done < sizeof bytes;) {
    const ssize_t n = ::getrandom(bytes + done, sizeof bytes - done, 0);
    if (n > 0) done += static_cast<std::size_t>(n);
    else if (errno != EINTR) throw SystemError(std::string("no random numbers from the system: ") + std::strerror(errno));
  }
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

bool same_secret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return different == 0;
}

Request read_request(const std::string& head, const std::string& token, int port) {
  const auto lines = lines_of(head);
  if (lines.empty()) return {400};
  const auto space = lines[0].find(' '), last = lines[0].rfind(' ');
  if (space == std::string::npos || last == space || lines[0].find(' ', space + 1) != last) return {400};
  const std::string method = lines[0].substr(0, space), target = lines[0].substr(space + 1, last - space - 1),
                    protocol = lines[0].substr(last + 1);
  if (protocol != "HTTP/1.1" && protocol != "HTTP/1.0") return {400};

  std::vector<std::string> hosts;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto colon = lines[i].find(':');
    if (colon == std::string::npos || colon == 0 || lines[i].find_first_of(" \t") < colon) return {400};
    const std::string name = lower(lines[i].substr(0, colon)), value = trimmed(lines[i].substr(colon + 1));
    if (name == "host") hosts.push_back(value);
    if (name == "transfer-encoding" || (name == "content-length" && value != "0")) return {400};
  }
  if (hosts.size() != 1) return {400};
  const std::string at_port = ":" + std::to_string(port);
  if (hosts[0] != "127.0.0.1" + at_port && hosts[0] != "localhost" + at_port) return {403};
  if (method != "GET") return {405};

  const auto mark = target.find('?');
  const std::string path = target.substr(0, mark);
  const std::size_t end = token.size() + 2;  // "/TOKEN/"
  if (path.size() < end || path[0] != '/' || path[end - 1] != '/' || !same_secret(path.substr(1, token.size()), token)) return {404};
  return {0, path.substr(end), mark == std::string::npos ? "" : target.substr(mark + 1)};
}

std::string response_bytes(const Response& r) {
  const bool has_body = r.status != 304;
  std::string out = "HTTP/1.1 " + std::to_string(r.status) + " " + reason(r.status) + "\r\n";
  if (has_body) out += "Content-Type: " + r.type + "\r\nContent-Length: " + std::to_string(r.body.size()) + "\r\n";
  if (r.status == 405) out += "Allow: GET\r\n";
  out += "Content-Security-Policy: " + (r.policy.empty() ? "default-src 'none'" : r.policy) + "; frame-ancestors 'none'\r\n";
  out +=
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n";
  return has_body ? out + r.body : out;
}

}  // namespace ffn::serve
