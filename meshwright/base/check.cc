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
