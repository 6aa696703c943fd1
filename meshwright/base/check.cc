#include "meshwright/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "meshwright/base/live_line.h"

namespace meshwright::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  message_ << file << ":" << line << ": internal error: " << condition << " ";
}

CheckFailure::~CheckFailure() {
  LiveLine::Get().Close();
  std::fputs((message_.str() + "\n").c_str(), stderr);
  std::abort();
}

}  // namespace meshwright::internal

// Called by the standard library's own checks; defined here because GCC 11 has
// no function of this name.
namespace std {
__attribute__((noreturn)) void __glibcxx_assert_fail(
    const char* file, int line, const char* function,
    const char* condition) noexcept {
  meshwright::internal::CheckFailure(file, line, condition).stream()
      << function;
}
}  // namespace std
