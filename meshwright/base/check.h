// MW_CHECK(condition) << context: aborts with a message if our own code is
// wrong. Never reachable from user input; that gets an absl::Status.
#ifndef MESHWRIGHT_BASE_CHECK_H_
#define MESHWRIGHT_BASE_CHECK_H_

#include <sstream>

namespace meshwright::internal {

// Prints what was streamed into it and aborts when destroyed.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return message_; }

 private:
  std::ostringstream message_;
};

}  // namespace meshwright::internal

#define MW_CHECK(condition)                                              \
  if (condition) {                                                       \
  } else                                                                 \
    ::meshwright::internal::CheckFailure(__FILE__, __LINE__, #condition) \
        .stream()

#endif  // MESHWRIGHT_BASE_CHECK_H_
