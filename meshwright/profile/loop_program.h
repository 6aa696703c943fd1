// Programs that do one thing as often as they are told, to be timed.
//
//   LoopProgram loop = MatmulLoop(ElementType::kF32, 256);
//   loop.module;        // (s32[] turns, f32[256,256] x, ...) -> x after them
//   loop.repeats;       // 2: dots in a turn
//
// The number of turns is an argument: what a turn takes is the difference of
// two runs, free of what starting a program costs.
#ifndef MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_
#define MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/prices.h"

namespace meshwright {

struct LoopProgram {
  Module module;
  std::vector<Shape> arguments;  // After the number of turns.
  double repeats = 1;            // Of the thing in a turn.
};

// Contractions of two squares.
LoopProgram MatmulLoop(ElementType type, int64_t size);
// A kernel that reads and writes an array of f32, once each.
LoopProgram MemoryLoop(int64_t elements);
// Kernels of a few elements, each waiting for the one before.
LoopProgram SmallKernelLoop();
// One kernel with `operations` additions and multiplications per element.
LoopProgram ArithmeticLoop(int64_t elements, int operations);
// One kernel with a tanh per element.
LoopProgram TanhLoop(int64_t elements);
// A 3x3 convolution, `channels` to as many, of 8 images of 16 x 16.
LoopProgram ConvolutionLoop(int64_t channels);
// A collective of f32[elements] per device, in groups of `group` consecutive
// devices. Requires: `group` divides `devices` and `elements`.
LoopProgram CollectiveLoop(MoveKind kind, int64_t elements, int64_t group,
                           int64_t devices);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_
