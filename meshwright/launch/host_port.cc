#include "meshwright/launch/host_port.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Characters of host names and of IPv6 addresses with zones, but none that a
// shell or ssh would interpret.
bool IsHostName(absl::string_view host) {
  return !host.empty() && host[0] != '-' &&
         std::ranges::all_of(host, [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains(".-_:%", c);
         });
}

std::optional<int> ParsePort(absl::string_view text) {
  int port = 0;
  if (text.empty() || !std::ranges::all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &port) || port > 65535) {
    return std::nullopt;
  }
  return port;
}

struct Parts {
  absl::string_view host;  // Without brackets.
  std::optional<absl::string_view> port;
};

absl::StatusOr<Parts> Split(absl::string_view text) {
  Parts parts{.host = text};
  if (absl::StartsWith(text, "[")) {
    const size_t close = text.find(']');
    if (close == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' has no closing ']'"));
    }
    parts.host = text.substr(1, close - 1);
    const absl::string_view rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' is no HOST:PORT"));
    }
    if (!rest.empty()) parts.port = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    const size_t colon = text.find(':');
    parts.host = text.substr(0, colon);
    parts.port = text.substr(colon + 1);
  }
  if (!IsHostName(parts.host)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' names no host"));
  }
  return parts;
}

}  // namespace

std::string HostPort::ToString() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool HostPort::IsLoopback() const {
  return host == "localhost" || host == "::1" ||
         (absl::StartsWith(host, "127.") &&
          host.find_first_not_of("0123456789.") == std::string::npos);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view text,
                                       int default_port) {
  MW_ASSIGN_OR_RETURN(const Parts parts, Split(text));
  if (!parts.port.has_value()) {
    if (default_port == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", text, "' has no port; write HOST:PORT"));
    }
    return HostPort{std::string(parts.host), default_port};
  }
  const std::optional<int> port = ParsePort(*parts.port);
  if (!port.has_value() || *port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "': ports are 1 to 65535"));
  }
  return HostPort{std::string(parts.host), *port};
}

absl::StatusOr<HostPort> ParseAddress(absl::string_view text) {
  const absl::StatusOr<Parts> parts = Split(text);
  const std::optional<int> port = parts.ok() && parts->port.has_value()
                                      ? ParsePort(*parts->port)
                                      : std::nullopt;
  if (port.has_value()) return HostPort{std::string(parts->host), *port};
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no address; write HOST:PORT, such as 127.0.0.1:7777"));
}

}  // namespace meshwright
