// Compiler options for programs with collectives.
#ifndef MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
#define MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_

#include "absl/strings/string_view.h"
#include "meshwright/engine/client.h"

namespace meshwright {

// On CPUs all-reduces stay as they are: what gains by being merged already is.
// On GPUs they are started early and awaited late (XLA's latency-hiding
// scheduler), and XLA merges small ones up to its own thresholds. An option
// that $XLA_FLAGS names is the user's.
OptionMap CollectiveOptions(absl::string_view platform);

// Whether the platform's own collectives go between processes whose clients
// were opened as a team (engine/process_team.h).
bool CollectivesCrossProcesses(absl::string_view platform);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
