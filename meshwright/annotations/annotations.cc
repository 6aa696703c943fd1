#include "meshwright/annotations/annotations.h"

#include <algorithm>
#include <utility>

#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

bool IsAllFree(const RawAnnotation& raw) {
  return !raw.free.empty() &&
         std::find(raw.free.begin(), raw.free.end(), false) == raw.free.end();
}

}  // namespace

absl::StatusOr<Annotations> ReadAnnotations(const Module& module,
                                            const Mesh& mesh) {
  MW_ASSIGN_OR_RETURN(RawAnnotations raw, CollectAnnotations(module));
  Annotations result;
  size_t leaves = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    leaves += Leaves(parameter->shape).size();
  }
  result.parameters.resize(leaves);
  result.outputs.resize(Leaves(module.entry()->root()->shape).size());
  result.sharding_groups = std::move(raw.sharding_groups);
  for (const RawAnnotation& item : raw.list) {
    MW_ASSIGN_OR_RETURN(Sharding sharding, OnMesh(item, mesh));
    if (IsAllFree(item)) continue;
    Annotation annotation = {std::move(sharding), item.free};
    switch (item.target) {
      case RawAnnotation::Target::kParameter:
        result.parameters[item.leaf] = std::move(annotation);
        break;
      case RawAnnotation::Target::kOutput:
        result.outputs[item.leaf] = std::move(annotation);
        break;
      case RawAnnotation::Target::kInstruction:
        result.instructions.emplace(item.instruction, std::move(annotation));
        break;
    }
  }
  return result;
}

}  // namespace meshwright
