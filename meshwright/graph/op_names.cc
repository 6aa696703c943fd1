#include "meshwright/graph/op_names.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

std::string PlainName(const FlatOp& op) {
  const std::string& name = op.instruction->name;
  switch (op.kind) {
    case OpKind::kCompute:
      return name;
    case OpKind::kParameter:
      return op.instruction->shape.IsTuple()
                 ? absl::StrCat(name, "[", op.leaf, "]")
                 : name;
    case OpKind::kCarry:
      return absl::StrCat(name, "[", op.leaf, "]");
    case OpKind::kEnter:
      return absl::StrCat(name, ".enter[", op.leaf, "]");
    case OpKind::kMerge:
      return absl::StrCat(name, ".merge[", op.leaf, "]");
    case OpKind::kOutput:
      return absl::StrCat("output[", op.leaf, "]");
  }
  return name;
}

// Of equal names all but the first get a number.
void NumberRepeated(std::vector<std::string>& names) {
  absl::flat_hash_map<std::string, int> times;
  absl::flat_hash_set<std::string> taken;
  for (std::string& name : names) {
    const std::string plain = name;
    int time = ++times[plain];
    if (time > 1) name = absl::StrCat(plain, "(", time, ")");
    while (!taken.insert(name).second) {
      name = absl::StrCat(plain, "(", ++time, ")");
    }
    times[plain] = time;
  }
}

}  // namespace

std::vector<std::string> OpNames(const FlatGraph& graph) {
  std::vector<std::string> names;
  names.reserve(graph.ops.size());
  for (const FlatOp& op : graph.ops) names.push_back(PlainName(op));
  NumberRepeated(names);
  return names;
}

std::vector<std::string> InstructionNames(const Computation& computation) {
  std::vector<std::string> names;
  names.reserve(computation.size());
  for (const auto& instruction : computation.instructions()) {
    names.push_back(instruction->name);
  }
  NumberRepeated(names);
  return names;
}

std::vector<std::string> ValueNames(const FlatGraph& graph,
                                    const std::vector<std::string>& op_names) {
  std::vector<std::string> names;
  names.reserve(graph.values.size());
  for (const FlatValue& value : graph.values) {
    const std::string& name = op_names[value.producer];
    names.push_back(value.result == 0 ? name
                                      : absl::StrCat(name, ":", value.result));
  }
  return names;
}

}  // namespace meshwright
