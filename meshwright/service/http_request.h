// As much of HTTP/1.1 as answering a GET takes.
//
//   FindRequest("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", &request);
//   request.path;                              // "/metrics"
//   HttpAnswer(200, "text/plain", "ok\n", /*with_body=*/true);
#ifndef MESHWRIGHT_SERVICE_HTTP_REQUEST_H_
#define MESHWRIGHT_SERVICE_HTTP_REQUEST_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// Of a request's head; one that is longer is refused.
inline constexpr size_t kMaxRequestBytes = 8192;

struct HttpRequest {
  std::string method;
  std::string path;  // Without what follows a '?'.
};

enum class RequestState {
  kIncomplete,
  kComplete,
  kBad,      // No HTTP/1 request.
  kTooLong,  // No end within kMaxRequestBytes.
};
RequestState FindRequest(absl::string_view bytes, HttpRequest* request);

// The whole answer, after which the connection ends. HEAD gets no body.
std::string HttpAnswer(int code, absl::string_view type, absl::string_view body,
                       bool with_body);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_HTTP_REQUEST_H_
