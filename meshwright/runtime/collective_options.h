// Compiler options for programs with collectives.
#ifndef MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
#define MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "meshwright/engine/client.h"

namespace meshwright {

// On CPUs all-reduces are not combined further: what gains by it already is. On
// GPUs collectives are started early and awaited late (XLA's latency-hiding
// scheduler), and XLA combines small ones up to its own thresholds. Options
// that $XLA_FLAGS sets are not overridden.
OptionMap CollectiveOptions(absl::string_view platform);

// As in $XLA_FLAGS: "--xla_gpu_enable_latency_hiding_scheduler=true".
std::string ToFlags(const OptionMap& options);

// Whether the platform's own collectives span processes whose clients were
// opened as a team (engine/process_team.h).
bool CollectivesCrossProcesses(absl::string_view platform);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
