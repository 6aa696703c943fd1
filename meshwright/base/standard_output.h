// `stdout` for all commands: write errors are remembered, and on a terminal the
// progress line (live_line.h) makes way.
#ifndef MESHWRIGHT_BASE_STANDARD_OUTPUT_H_
#define MESHWRIGHT_BASE_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace meshwright {

// Sets up `stdout`; call once, before anything is printed. Closed standard
// streams are occupied, so that files opened later are not mistaken for them.
void OpenStandardOutput();

// Flushes the buffer. Returns the first failure since OpenStandardOutput,
// "standard output: No space left on device".
absl::Status FlushStandardOutput();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STANDARD_OUTPUT_H_
