// The per-device program under construction, with what its builders share.
#ifndef MESHWRIGHT_PROGRAM_PROGRAM_H_
#define MESHWRIGHT_PROGRAM_PROGRAM_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

// The opcode that combines two values: kSum is add.
Opcode CombinerOpcode(Reduction reduction);

// What a collective of the program is for.
struct CollectiveNote {
  AxisList axes;       // None: a permutation among all devices.
  std::string tensor;  // The instruction whose value moves.
  // Not 0: it stays where it is, and is not the same as one with another
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
  // `computation` of another module, copied with all it calls; once each.
  Computation* Copy(const Computation& computation);
  const std::vector<std::vector<int64_t>>& Groups(const AxisList& axes);

  Module module;
  Mesh mesh;
  absl::flat_hash_map<const Instruction*, CollectiveNote> collectives;

 private:
  absl::flat_hash_map<std::string, int64_t> names_;
  std::map<std::pair<Reduction, ElementType>, Computation*> combiners_;
  absl::flat_hash_map<const Computation*, Computation*> copies_;
  std::map<AxisList, std::vector<std::vector<int64_t>>> groups_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PROGRAM_H_
