// Compiler options under which the collectives of a program run as written.
#ifndef MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
#define MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_

#include "absl/strings/string_view.h"
#include "meshwright/engine/client.h"

namespace meshwright {

// Keeps the compiler from merging collectives; what can be merged already is.
OptionMap CollectivesAsWritten(absl::string_view platform);

// Whether the platform's own collectives go between processes whose clients
// were opened as a team (engine/process_team.h).
bool CollectivesCrossProcesses(absl::string_view platform);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COLLECTIVE_OPTIONS_H_
