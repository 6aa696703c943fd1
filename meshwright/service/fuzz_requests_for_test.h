// Requests as no honest client sends them.
#ifndef MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_

#include <random>
#include <string>
#include <vector>

namespace meshwright {

struct FuzzRequest {
  std::string method;                 // "/meshwright.proto.Jobs/Plan"
  std::vector<std::string> messages;  // Serialized, or not even that.
  bool protocol = true;               // Says which protocol it speaks.
  bool half_close = true;
  bool cancel = false;  // Half-way.
};

// The same for the same state of `random`.
FuzzRequest MakeFuzzRequest(std::mt19937& random);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_FUZZ_REQUESTS_FOR_TEST_H_
