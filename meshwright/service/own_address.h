// The address of this machine, as others see it.
#ifndef MESHWRIGHT_SERVICE_OWN_ADDRESS_H_
#define MESHWRIGHT_SERVICE_OWN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace meshwright {

// Of the interface through which `peer`, HOST:PORT, is reached: "127.0.0.1",
// "10.0.0.3". kUnavailable, naming the host, when there is no way to it.
absl::StatusOr<std::string> OwnAddressTowards(const std::string& peer);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_OWN_ADDRESS_H_
