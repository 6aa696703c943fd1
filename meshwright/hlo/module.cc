#include "meshwright/hlo/module.h"

#include <functional>
#include <map>
#include <utility>

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
  std::map<const Computation*, size_t> positions;
  for (size_t i = 0; i < computations_.size(); ++i) {
    positions[computations_[i].get()] = i;
  }
  std::vector<std::unique_ptr<Computation>> ordered;
  ordered.reserve(computations_.size());
  const std::function<void(size_t)> visit = [&](size_t i) {
    if (computations_[i] == nullptr) return;
    // Taken before its callees: a cycle, which Verify rejects, ends here.
    std::unique_ptr<Computation> computation = std::move(computations_[i]);
    for (const auto& instruction : computation->instructions()) {
      for (const Computation* called : instruction->called) {
        visit(positions.at(called));
      }
    }
    ordered.push_back(std::move(computation));
  };
  for (size_t i = 0; i < computations_.size(); ++i) visit(i);
  computations_ = std::move(ordered);
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
