#include "meshwright/service/http_request.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace meshwright {
namespace {

absl::string_view Reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Bad Request";
  }
}

bool IsPrintable(absl::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 127; });
}

// Of the lines of a request's head after the first.
std::string HeaderOf(absl::string_view lines, absl::string_view name) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    const size_t colon = line.find(':');
    if (colon != absl::string_view::npos &&
        absl::EqualsIgnoreCase(line.substr(0, colon), name)) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "";
}

}  // namespace

RequestState FindRequest(absl::string_view bytes, HttpRequest* request) {
  const size_t line_end = bytes.find('\n');
  if (line_end == absl::string_view::npos) {
    // What is no text never becomes a request.
    if (!bytes.empty() && !IsPrintable(bytes.substr(0, 1))) {
      return RequestState::kBad;
    }
    return bytes.size() < kMaxRequestBytes ? RequestState::kIncomplete
                                           : RequestState::kTooLong;
  }
  absl::string_view line = bytes.substr(0, line_end);
  if (absl::EndsWith(line, "\r")) line.remove_suffix(1);
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.") ||
      !absl::StartsWith(words[1], "/") || words[0].empty() ||
      !IsPrintable(line)) {
    return RequestState::kBad;
  }
  if (!absl::StrContains(bytes, "\r\n\r\n") &&
      !absl::StrContains(bytes, "\n\n")) {
    return bytes.size() < kMaxRequestBytes ? RequestState::kIncomplete
                                           : RequestState::kTooLong;
  }
  request->method = std::string(words[0]);
  request->path = std::string(words[1].substr(0, words[1].find('?')));
  request->authorization =
      HeaderOf(bytes.substr(line_end + 1), "Authorization");
  return RequestState::kComplete;
}

std::string HttpAnswer(int code, absl::string_view type, absl::string_view body,
                       bool with_body) {
  return absl::StrCat("HTTP/1.1 ", code, " ", Reason(code),
                      "\r\nContent-Type: ", type,
                      "\r\nContent-Length: ", body.size(),
                      "\r\nCache-Control: no-store\r\nConnection: close\r\n",
                      code == 405 ? "Allow: GET, HEAD\r\n" : "",
                      code == 401 ? "WWW-Authenticate: Bearer\r\n" : "", "\r\n",
                      with_body ? body : absl::string_view());
}

}  // namespace meshwright
