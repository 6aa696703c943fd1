// Test support: whether tests should take their time.
#ifndef MESHWRIGHT_BASE_IS_LONG_FOR_TEST_H_
#define MESHWRIGHT_BASE_IS_LONG_FOR_TEST_H_

#include <cstdlib>

namespace meshwright {

// MW_LONG is set: every case, not a few of each kind.
inline bool IsLong() { return std::getenv("MW_LONG") != nullptr; }

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_IS_LONG_FOR_TEST_H_
