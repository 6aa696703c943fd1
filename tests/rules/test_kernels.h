// Test support: kernels that programs of the oracle can call.
#ifndef MESHWRIGHT_TESTS_RULES_TEST_KERNELS_H_
#define MESHWRIGHT_TESTS_RULES_TEST_KERNELS_H_

#include "absl/status/status.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {

absl::Status RegisterTestKernels(const Plugin& plugin);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_TEST_KERNELS_H_
