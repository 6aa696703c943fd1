// Builds the loops of loop_program.h.
//
//   MakeLoop({square, square}, 1, [](LoopBuilder& build, auto values) {
//     return build.Add(Opcode::kAdd, square, {values[0], values[1]});
//   });
#ifndef MESHWRIGHT_PROFILE_LOOP_BUILDER_H_
#define MESHWRIGHT_PROFILE_LOOP_BUILDER_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/module.h"
#include "meshwright/profile/loop_program.h"

namespace meshwright {

// Adds instructions under names of their own.
class LoopBuilder {
 public:
  LoopBuilder(Module& module, Computation& computation)
      : module_(module), computation_(computation) {}

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands);
  Instruction* Constant(Literal value);
  Instruction* Element(Instruction* tuple, int64_t index);
  // A computation that adds two scalars; may be called for one type only.
  Computation* Adder(ElementType type);

 private:
  Module& module_;
  Computation& computation_;
};

// Maps the values at the beginning of an iteration to those of the next, for
// the first arguments; the others are loop-invariant.
using Turns = std::function<std::vector<Instruction*>(
    LoopBuilder&, const std::vector<Instruction*>&)>;
LoopProgram MakeLoopOf(std::vector<Shape> arguments, double repeats,
                       const Turns& turn);

// The same for the first argument only.
using Turn =
    std::function<Instruction*(LoopBuilder&, std::vector<Instruction*>)>;
LoopProgram MakeLoop(std::vector<Shape> arguments, double repeats,
                     const Turn& turn);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_LOOP_BUILDER_H_
