#include "meshwright/hlo/module.h"

#include <utility>

namespace meshwright {

Computation* Module::AddComputation(std::string name) {
  computations_.push_back(std::make_unique<Computation>(std::move(name)));
  return computations_.back().get();
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
