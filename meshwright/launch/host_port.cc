#include "meshwright/launch/host_port.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// Letters of host names and of IPv6 addresses with their zones. What a shell or
// ssh would take for something else is not among them.
bool IsHostName(absl::string_view host) {
  return !host.empty() && host[0] != '-' &&
         std::ranges::all_of(host, [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains(".-_:%", c);
         });
}

std::optional<int> ParsePort(absl::string_view text) {
  int port = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit)) {
    return std::nullopt;
  }
  if (!absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) {
    return std::nullopt;
  }
  return port;
}

}  // namespace

std::string HostPort::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool HostPort::IsLoopback() const {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text,
                                       int default_port) {
  absl::string_view host = text;
  std::optional<absl::string_view> port;
  if (absl::StartsWith(text, "[")) {
    const size_t close = text.find(']');
    if (close == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' has no closing ']'"));
    }
    host = text.substr(1, close - 1);
    const absl::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is no HOST:PORT"));
    }
    if (!rest.empty()) port = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    const size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  if (!IsHostName(host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' names no host"));
  }
  if (!port.has_value()) {
    if (default_port == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' has no port; write HOST:PORT"));
    }
    return HostPort{std::string(host), default_port};
  }
  const std::optional<int> number = ParsePort(*port);
  if (!number.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': ports are 1 to 65535"));
  }
  return HostPort{std::string(host), *number};
}

}  // namespace meshwright
