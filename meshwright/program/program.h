// The per-device program under construction, and what its builders share.
#ifndef MESHWRIGHT_PROGRAM_PROGRAM_H_
#define MESHWRIGHT_PROGRAM_PROGRAM_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// The opcode of a binary reduction: kSum is add.
Opcode CombinerOpcode(Reduction reduction);

// The purpose of a collective of the program.
struct CollectiveNote {
  AxisList axes;       // Empty: a permutation among all devices.
  std::string tensor;  // The instruction whose value is communicated.
  // If not 0, the collective must not be moved, nor merged with one of another
  // number.
  int32_t use = 0;
};

struct LocalProgram {
  LocalProgram(std::string name, Mesh m)
      : module(std::move(name)), mesh(std::move(m)) {}
  LocalProgram(const LocalProgram&) = delete;
  LocalProgram& operator=(const LocalProgram&) = delete;

  // A name not used before: "stem", "stem.1", ...
  std::string UniqueName(const std::string& stem);
  // (a, b) -> reduction(a, b) on scalars of `type`.
  Computation* Combiner(Reduction reduction, ElementType type);
  // Copies a computation of another module, with everything it calls; once
  // each.
  Computation* Copy(const Computation& computation);
  const std::vector<std::vector<int64_t>>& Groups(const AxisList& axes);
  // For lowerings that can choose: the FLOPs of contractions that take as long
  // as a collective-permute of `bytes` along `axes`.
  double PermuteInFlops(const AxisList& axes, double bytes) const {
    return permute_in_flops ? permute_in_flops(axes, bytes) : 0;
  }

  Module module;
  Mesh mesh;
  absl::flat_hash_map<const Instruction*, CollectiveNote> collectives;
  // Null: collective-permutes take no time.
  std::function<double(const AxisList& axes, double bytes)> permute_in_flops;

 private:
  absl::flat_hash_map<std::string, int64_t> names_;
  std::map<std::pair<Reduction, ElementType>, Computation*> combiners_;
  absl::flat_hash_map<const Computation*, Computation*> copies_;
  std::map<AxisList, std::vector<std::vector<int64_t>>> groups_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PROGRAM_H_
