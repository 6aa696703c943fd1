#include "meshwright/hlo/module.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

void AddLayouts(Shape& shape) {
  for (Shape& element : shape.tuple_shapes) AddLayouts(element);
  if (!shape.IsArray() || shape.layout.has_value()) return;
  shape.layout.emplace();
  for (int64_t i = shape.rank(); i-- > 0;) {
    shape.layout->minor_to_major.push_back(i);
  }
}

}  // namespace

Computation* Module::AddComputation(std::string name) {
  computations_.push_back(std::make_unique<Computation>(std::move(name)));
  return computations_.back().get();
}

void Module::OrderComputations() {
  absl::flat_hash_map<const Computation*, std::unique_ptr<Computation>> owned;
  for (auto& computation : computations_) {
    const Computation* key = computation.get();
    owned[key] = std::move(computation);
  }
  computations_.clear();
  // Depth first without recursion: a computation is added when it is popped for
  // the second time, after everything it calls.
  std::vector<std::pair<Computation*, bool>> stack = {{entry_, false}};
  absl::flat_hash_set<const Computation*> seen;
  while (!stack.empty()) {
    const auto [computation, expanded] = stack.back();
    stack.pop_back();
    if (expanded) {
      computations_.push_back(std::move(owned[computation]));
      continue;
    }
    if (!seen.insert(computation).second) continue;
    stack.emplace_back(computation, true);
    for (const auto& instruction : computation->instructions()) {
      for (Computation* called : instruction->called) {
        if (!seen.contains(called)) stack.emplace_back(called, false);
      }
    }
  }
}

void Module::Finish() {
  OrderComputations();
  for (const auto& computation : computations_) {
    for (const auto& instruction : computation->instructions()) {
      AddLayouts(instruction->shape);
    }
  }
}

int64_t Module::instruction_count() const {
  int64_t count = 0;
  for (const auto& computation : computations_) count += computation->size();
  return count;
}

ProgramShape ProgramShapeOf(const Computation& computation) {
  ProgramShape shape;
  for (const Instruction* parameter : computation.Parameters()) {
    shape.parameters.push_back(parameter->shape);
    shape.parameter_names.push_back(parameter->name);
  }
  shape.result = computation.root()->shape;
  return shape;
}

}  // namespace meshwright
