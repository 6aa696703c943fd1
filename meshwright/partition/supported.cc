#include "meshwright/partition/supported.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/rules/refusal.h"

namespace meshwright {

absl::Status CheckSupported(const FlatGraph& graph) {
  for (const FlatOp& op : graph.ops) {
    if (!op.live || op.kind != OpKind::kCompute) continue;
    const std::string reason = Refusal(*op.instruction);
    if (reason.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(op.instruction->name, ": ", reason));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
