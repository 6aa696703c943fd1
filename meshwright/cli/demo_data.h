// What the demo's binary carries: a module, its first state and a text.
#ifndef MESHWRIGHT_CLI_DEMO_DATA_H_
#define MESHWRIGHT_CLI_DEMO_DATA_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A character-level GPT's training step.
absl::StatusOr<Module> DemoModule();
absl::StatusOr<std::vector<Tensor>> DemoState();
absl::string_view DemoText();
// The batch of a step: windows of the text.
std::vector<Tensor> DemoBatch(const Module& module, const ModuleRoles& roles,
                              int64_t step);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_DEMO_DATA_H_
