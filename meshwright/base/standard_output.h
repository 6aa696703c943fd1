// `stdout` as all commands print to it: what cannot be written is remembered,
// and on a terminal the line at the bottom (live_line.h) makes way.
#ifndef MESHWRIGHT_BASE_STANDARD_OUTPUT_H_
#define MESHWRIGHT_BASE_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace meshwright {

// Makes `stdout` such a stream; call once, before anything is printed. Closed
// standard streams are put where they cannot be taken for files opened later.
void OpenStandardOutput();

// Writes what is still buffered. The first failure since OpenStandardOutput,
// "standard output: No space left on device".
absl::Status FlushStandardOutput();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STANDARD_OUTPUT_H_
