// The address of this machine as seen by others.
#ifndef MESHWRIGHT_SERVICE_OWN_ADDRESS_H_
#define MESHWRIGHT_SERVICE_OWN_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"

namespace meshwright {

// The address of the interface through which `peer`, HOST:PORT, is reached:
// "127.0.0.1", "10.0.0.3". kUnavailable, naming the host, if there is no route
// to it.
absl::StatusOr<std::string> OwnAddressTowards(const std::string& peer);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_OWN_ADDRESS_H_
