// A small module for tests of the search, y = tanh(x w) layer by layer, and a
// mesh to plan it for.
#ifndef MESHWRIGHT_SEARCH_LAYERS_FOR_TEST_H_
#define MESHWRIGHT_SEARCH_LAYERS_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/search/plan_mesh.h"

namespace meshwright {

inline Module Layers(int count, int64_t rows, int64_t width) {
  Module module("layers");
  Computation* const entry = module.AddComputation("main");
  const Shape weights = Shape::Array(ElementType::kF32, {width, width});
  const Shape values = Shape::Array(ElementType::kF32, {rows, width});
  Instruction* x = entry->AddParameter(values, "x");
  std::vector<Instruction*> parameters;
  for (int i = 0; i < count; ++i) {
    parameters.push_back(entry->AddParameter(weights, "w" + std::to_string(i)));
  }
  for (int i = 0; i < count; ++i) {
    Instruction* dot = entry->Add(Opcode::kDot, values, {x, parameters[i]},
                                  "dot" + std::to_string(i));
    dot->attributes.mutate().dot =
        DotDimensionNumbers{.lhs_contracting = {1}, .rhs_contracting = {0}};
    x = entry->Add(Opcode::kTanh, values, {dot}, "tanh" + std::to_string(i));
  }
  module.set_entry(entry);
  entry->set_root(x);
  return module;
}

// Devices so slow that sharding pays off.
inline const Rates& SlowRates() {
  static const Rates* const rates = new Rates{
      .matmul = {{ElementType::kF32, {{{1, 1e11}}}}}, .memory = {{{1, 1e10}}}};
  return *rates;
}

inline MeshTask TaskOn(const char* mesh) {
  MeshTask task{.mesh = *Mesh::Parse(mesh), .rates = &SlowRates()};
  task.prices.collective = {1e-7, 1e-9};
  return task;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_LAYERS_FOR_TEST_H_
