// The shardings that the user has asked for in the module itself (GSPMD and
// Shardy annotations).
//
//   MW_ASSIGN_OR_RETURN(Annotations a, ReadAnnotations(module, mesh));
//   a.parameters[0]->sharding;   // [model, -]
//   a.outputs[2].has_value();    // false: no requirement
#ifndef MESHWRIGHT_ANNOTATIONS_ANNOTATIONS_H_
#define MESHWRIGHT_ANNOTATIONS_ANNOTATIONS_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

struct Annotation {
  Annotation() = default;
  Annotation(Sharding given, std::vector<bool> open = {})     // NOLINT: a plain
      : sharding(std::move(given)), free(std::move(open)) {}  // one is common.

  Sharding sharding;
  // By dimension: whether it is open; it is not split in `sharding` then. Not
  // true of all dimensions; empty if of none.
  std::vector<bool> free;

  bool operator==(const Annotation&) const = default;
};

struct Annotations {
  // By leaf of all entry parameters, and of the result.
  std::vector<std::optional<Annotation>> parameters;
  std::vector<std::optional<Annotation>> outputs;
  // On arrays in any computation.
  absl::flat_hash_map<const Instruction*, Annotation> instructions;
  // By group: the calls whose operands must have the same sharding, whichever
  // it is (sharding groups).
  std::vector<std::vector<const Instruction*>> sharding_groups;
};

// kInvalidArgument, naming the tensor, if an annotation cannot be expressed on
// `mesh`. The module must have passed Verify and outlive the result.
absl::StatusOr<Annotations> ReadAnnotations(const Module& module,
                                            const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_ANNOTATIONS_H_
