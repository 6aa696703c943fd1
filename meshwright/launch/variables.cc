#include "meshwright/launch/variables.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {

std::optional<std::string> Variable(const Environment& environment,
                                    const char* name) {
  std::optional<std::string> value = environment(name);
  if (value.has_value() && value->empty()) return std::nullopt;
  return value;
}

absl::StatusOr<std::optional<int64_t>> IntegerVariable(
    const Environment& environment, const char* name, int64_t max) {
  const std::optional<std::string> text = Variable(environment, name);
  if (!text.has_value()) return std::nullopt;
  int64_t value = 0;
  if (!std::ranges::all_of(*text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(*text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is '", *text, "', not a number"));
  }
  if (value > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", value, "; at most ", max, " is possible"));
  }
  return value;
}

absl::StatusOr<std::optional<HostPort>> AddressVariable(
    const Environment& environment, const char* name, const char* port_name,
    int default_port) {
  const std::optional<std::string> text = Variable(environment, name);
  if (!text.has_value()) return std::nullopt;
  std::optional<int64_t> port;
  if (port_name != nullptr) {
    MW_ASSIGN_OR_RETURN(port, IntegerVariable(environment, port_name, 65535));
  }
  if (port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(port_name, " is 0; ports are 1 to 65535"));
  }
  const absl::StatusOr<HostPort> address = ParseHostPort(
      *text, port.has_value() ? static_cast<int>(*port) : default_port);
  if (!address.ok()) return Annotate(address.status(), name);
  if (port.has_value() && *port != address->port) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has port ", address->port, ", ", port_name, " is ", *port));
  }
  return *address;
}

}  // namespace meshwright
