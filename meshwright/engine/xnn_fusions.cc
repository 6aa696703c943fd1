#include "meshwright/engine/xnn_fusions.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/program_signature.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

constexpr absl::string_view kKind = "__xnn_fusion";  // In backend_config.

std::set<int64_t> BodiesOfXnnFusions(const pb::HloModuleProto& module) {
  std::set<int64_t> bodies;
  for (const auto& computation : module.computations()) {
    for (const auto& op : computation.instructions()) {
      if (op.opcode() != "fusion") continue;
      if (!absl::StrContains(op.backend_config(), kKind)) continue;
      bodies.insert(op.called_computation_ids().begin(),
                    op.called_computation_ids().end());
    }
  }
  return bodies;
}

bool IsRowMajor(const pb::ShapeProto& shape) {
  const auto& order = shape.layout().minor_to_major();
  return std::is_sorted(order.rbegin(), order.rend());
}

bool IsUnsafe(const pb::HloComputationProto& computation) {
  return std::any_of(computation.instructions().begin(),
                     computation.instructions().end(), [](const auto& op) {
                       return op.opcode() == "constant" ||
                              !IsRowMajor(op.shape());
                     });
}

}  // namespace

absl::StatusOr<bool> HasUnsafeXnnFusion(const Program& program) {
  MW_ASSIGN_OR_RETURN(const absl::string_view bytes, ModuleBytes(program));
  if (!absl::StrContains(bytes, kKind)) return false;
  pb::HloModuleProto module;
  if (!module.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("the program is not a serialized module");
  }
  const std::set<int64_t> bodies = BodiesOfXnnFusions(module);
  return std::any_of(module.computations().begin(), module.computations().end(),
                     [&](const auto& computation) {
                       return bodies.contains(computation.id()) &&
                              IsUnsafe(computation);
                     });
}

}  // namespace meshwright
