// Malformed requests for fuzzing.
#ifndef MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_

#include <random>
#include <string>
#include <vector>

namespace meshwright {

struct FuzzRequest {
  std::string method;  // "/meshwright.proto.Jobs/Plan"
  // Serialized messages, or arbitrary bytes.
  std::vector<std::string> messages;
  bool protocol = true;  // Whether it states its protocol.
  bool half_close = true;
  bool cancel = false;  // Cancelled half-way.
};

// Depends on the state of `random` only.
FuzzRequest MakeFuzzRequest(std::mt19937& random);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_
