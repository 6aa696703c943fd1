// The part of HTTP/1.1 that is needed to answer a GET.
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

// Of a request's head; longer ones are refused.
inline constexpr size_t kMaxRequestBytes = 8192;

struct HttpRequest {
  std::string method;
  std::string path;           // Without the query.
  std::string authorization;  // That header, or empty.
};

enum class RequestState {
  kIncomplete,
  kComplete,
  kBad,      // Not an HTTP/1 request.
  kTooLong,  // Does not end within kMaxRequestBytes.
};
RequestState FindRequest(absl::string_view bytes, HttpRequest* request);

// The complete response, after which the connection is closed. HEAD gets no
// body.
std::string HttpAnswer(int code, absl::string_view type, absl::string_view body,
                       bool with_body);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_HTTP_REQUEST_H_
