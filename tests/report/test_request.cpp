// Which requests are answered, and with what words around the answer.
#include "ffn/report/request.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::serve;

namespace {

const std::string kToken = "0123456789abcdef0123456789abcdef";

Request read(const std::string& line, const std::string& headers = "Host: 127.0.0.1:4000\r\n") {
  return read_request(line + "\r\n" + headers + "\r\n", kToken, 4000);
}

int refused(const std::string& line, const std::string& headers = "Host: 127.0.0.1:4000\r\n") { return read(line, headers).refused; }

std::string get(const std::string& path) { return "GET " + path + " HTTP/1.1"; }

}  // namespace

TEST_CASE("what stands below the token is answered") {
  const auto page = read(get("/" + kToken + "/"));
  CHECK(page.refused == 0);
  CHECK(page.path.empty());
  const auto state = read(get("/" + kToken + "/state?v=3"), "Accept: */*\r\nhost:localhost:4000\r\n");
  CHECK(state.refused == 0);
  CHECK(state.path == "state");
  CHECK(state.query == "v=3");
}

TEST_CASE("nothing else is found") {
  for (const auto& path : std::vector<std::string>{"/", "", "/" + kToken, "//" + kToken + "/", "/0" + kToken.substr(1) + "0/",
                                                   "/" + kToken.substr(0, 31) + "e/", "/x/../" + kToken + "/", "state"}) {
    INFO(path);
    CHECK((refused(get(path)) == 404 || refused(get(path)) == 400));
    CHECK(refused(get(path)) != 0);
  }
}

TEST_CASE("a host that is not this machine by this port is refused") {
  for (const auto& host : std::vector<std::string>{"evil.example", "evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "localhost",
                                                   "127.0.0.1:4000.evil.example", "127.0.0.1:40000", ""}) {
    INFO(host);
    CHECK(refused(get("/" + kToken + "/"), "Host: " + host + "\r\n") == 403);
  }
  CHECK(refused(get("/" + kToken + "/"), "") == 400);
  CHECK(refused(get("/" + kToken + "/"), "Host: 127.0.0.1:4000\r\nHost: evil.example\r\n") == 400);
}

TEST_CASE("only GET is allowed, and no body") {
  for (const auto& method : std::vector<std::string>{"POST", "PUT", "DELETE", "HEAD", "OPTIONS", "get"})
    CHECK(refused(method + " /" + kToken + "/ HTTP/1.1") == 405);
  const std::string host = "Host: 127.0.0.1:4000\r\n";
  CHECK(refused(get("/" + kToken + "/"), host + "Content-Length: 5\r\n") == 400);
  CHECK(refused(get("/" + kToken + "/"), host + "Transfer-Encoding: chunked\r\n") == 400);
}

TEST_CASE("what is no HTTP is refused") {
  for (const auto& line :
       std::vector<std::string>{"", "GET", "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 x", "GET / HTTP/2", "GET / http/1.1"})
    CHECK(refused(line) == 400);
  const std::string host = "Host: 127.0.0.1:4000\r\n", line = get("/" + kToken + "/");
  for (const auto& header :
       std::vector<std::string>{": x", "name", "na me: x", " folded: x", std::string("x: \0", 4), std::string("x: a\nb")})
    CHECK(refused(line, host + header + "\r\n") == 400);
  CHECK(read_request("GET / HTTP/1.1\nHost: 127.0.0.1:4000\n\n", kToken, 4000).refused == 400);
}

TEST_CASE("tokens have 128 bits and are compared whole") {
  const auto token = new_token();
  CHECK(token.size() == 32);
  CHECK(token.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(token != new_token());
  CHECK(same_secret(token, token));
  CHECK_FALSE(same_secret(token, token.substr(1)));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "xbc"));
  CHECK_FALSE(same_secret("ab", "abc"));
}

TEST_CASE("an answer says that nobody keeps, frames or shares it") {
  const auto bytes = response_bytes({200, "text/html", "<p>", "default-src 'none'; script-src 'sha256-x'"});
  for (const auto& line : std::vector<std::string>{
           "HTTP/1.1 200 OK", "Content-Type: text/html", "Content-Length: 3", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
           "X-Frame-Options: DENY", "X-Content-Type-Options: nosniff", "Connection: close",
           "Content-Security-Policy: default-src 'none'; script-src 'sha256-x'; frame-ancestors 'none'"})
    CHECK(bytes.find(line + "\r\n") != std::string::npos);
  CHECK(bytes.find("Access-Control") == std::string::npos);
  CHECK(bytes.substr(bytes.size() - 7) == "\r\n\r\n<p>");
  const auto unchanged = response_bytes({304});
  CHECK(unchanged.substr(unchanged.size() - 4) == "\r\n\r\n");
  CHECK(unchanged.find("Content-Length") == std::string::npos);
}
