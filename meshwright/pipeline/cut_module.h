// Cuts one module into several programs that together compute the same, and
// lists the values that pass between them.
//
//   a = dot(x, w0)      program 0
//   m = max(a)          program 0
//   b = dot(a, w1)      program 1
//   root (b, m)
//
//   programs[0]  (x, w0) -> (a, m)     programs[1]  (w1, a) -> (b)
//   values       a: made by 0, used by 1; m, b: outputs
//
// Values pass from programs with lower numbers to ones with higher numbers
// only. A parameter that several programs use is a parameter of each. Cheap
// instructions are copied (cut_graph.h).
#ifndef MESHWRIGHT_PIPELINE_CUT_MODULE_H_
#define MESHWRIGHT_PIPELINE_CUT_MODULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/pipeline/cut_graph.h"

namespace meshwright {

// The origin of a value: parameter `index` of the module, or value `index` of
// the cut.
struct CutSource {
  enum class Kind : uint8_t { kParameter, kValue };
  Kind kind = Kind::kParameter;
  int32_t index = 0;

  bool operator==(const CutSource&) const = default;
};

struct CutValue {
  const Instruction* instruction = nullptr;  // Of the module.
  int32_t program = 0;                       // That computes it.
  int32_t result = 0;          // Its index among that program's results.
  std::vector<int32_t> users;  // Other programs that need it, ascending.
  bool is_output = false;
};

struct CutProgram {
  Module module;                      // With a flat tuple as root.
  std::vector<CutSource> parameters;  // By parameter number.
  std::vector<int32_t> results;  // By element of the root: index of the value.
};

struct ModuleCut {
  std::vector<CutProgram> programs;  // A program without results does nothing.
  std::vector<CutValue> values;
  std::vector<CutSource> outputs;  // By element of the module's root.
};

// `program_of`, by instruction id: the program of each node of the graph and of
// the module's outputs; ignored for other instructions. kInvalidArgument,
// naming two instructions, if a program would need a value of a later one.
// Requires: `graph` is that of the module's entry, whose root is a tuple of
// arrays; programs are in [0, count).
absl::StatusOr<ModuleCut> CutModule(const Module& module, const CutGraph& graph,
                                    absl::Span<const int32_t> program_of,
                                    int32_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_CUT_MODULE_H_
