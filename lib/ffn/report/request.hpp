// What a browser on this machine may ask, and in what words it is answered: the part of HTTP/1.1 (RFC 9112) that a page of one's own
// needs. Depends on core.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ffn::serve {

/// 128 bits from the system, in hexadecimal: who does not know them is not answered.
std::string new_token();

/// Takes as long for any two texts of one length, wherever they differ.
bool same_secret(const std::string& a, const std::string& b);

struct Request {
  int refused = 0;         ///< the status that says why it is not answered; 0 where it is
  std::string path = {};   ///< behind the token: "" or "state"
  std::string query = {};  ///< "v=3"
};

/// The whole head of a request, up to its blank line. GET alone, without a body, for 127.0.0.1:port or localhost:port (a page elsewhere
/// whose name was made to lead here says its own name: DNS rebinding), below /token/.
Request read_request(const std::string& head, const std::string& token, int port);

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8", body = {};
  std::string policy = {};  ///< Content-Security-Policy; nothing may be loaded where it is empty
};

/// Head and body. Nothing is to be kept, framed, or read by other pages, and the connection ends.
std::string response_bytes(const Response& response);

}  // namespace ffn::serve
