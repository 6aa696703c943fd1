// Benchmark programs that repeat an operation a given number of times.
//
//   LoopProgram loop = MatmulLoop(ElementType::kF32, 256);
//   loop.module;        // (s32[] turns, f32[256,256] x, ...) -> x after them
//   loop.repeats;       // 2: dots per iteration
//
// The number of iterations is an argument, so that the time of an iteration is
// the difference of two runs, without the cost of starting a program.
#ifndef MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_
#define MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/hlo/module.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

struct LoopProgram {
  Module module;
  std::vector<Shape> arguments;  // After the number of turns.
  double repeats = 1;            // Operations per iteration.
  // Chips clock higher on zeros than on random numbers; where that matters,
  // arguments are uniform between this and its negative.
  double scale = 0;
};

// Dots of two square matrices.
LoopProgram MatmulLoop(ElementType type, int64_t size);
// A kernel that reads and writes an array of f32, once each.
LoopProgram MemoryLoop(int64_t elements);
// An almost empty loop: the overhead of an iteration.
LoopProgram EmptyLoop();
// Many independent pairs of kernels of 4096 elements.
LoopProgram SmallKernelLoop();
// Not a loop: this many arrays in, and as many out. Ignores the iteration
// count.
LoopProgram ArgumentProgram(int64_t count);
// One kernel of kArithmeticFlops additions, multiplications and divisions per
// element, and a square root: Adam's update of a parameter.
inline constexpr int kArithmeticFlops = 13;
LoopProgram ArithmeticLoop(int64_t elements);
// kSums kernels that each add an array, possibly transposed, to one of their
// own, and a small all-reduce, as a step has one every few kernels: so that
// devices which share cores are interleaved as in a step.
inline constexpr int kSums = 8;
LoopProgram SumsLoop(int64_t rows, int64_t columns, bool transposed,
                     int64_t devices);
// One kernel that transposes.
LoopProgram TransposeLoop(int64_t rows, int64_t columns);
// One kernel with a tanh per element.
LoopProgram TanhLoop(int64_t elements);
// A 3x3 convolution, `channels` to as many, of 8 images of 16 x 16.
LoopProgram ConvolutionLoop(int64_t channels);
double ConvolutionFlops(int64_t channels);  // Padding counted too.
// A convolution of small images with this many channels: windows of 3 x 3 at
// each position, with gaps between their elements if `dilation` is above 1.
LoopProgram WindowsLoop(int64_t channels, int64_t dilation);
double WindowsElements(int64_t channels);  // Of all windows.
double WindowsFlops(int64_t channels);
// Two collectives of f32[elements] per device: in groups of `group` consecutive
// devices, then in strided groups, as along both axes of a mesh. Requires:
// `group` divides `devices` and `elements`.
LoopProgram CollectiveLoop(MoveKind kind, int64_t elements, int64_t group,
                           int64_t devices);
// One all-reduce of this many arrays of f32[elements] among all devices.
LoopProgram ArraysLoop(int64_t arrays, int64_t elements, int64_t devices);

// Layers as in a step, each with weights of its own: a contraction, a sum over
// the features, and a tanh of the difference.
LoopProgram LayersLoop(int64_t layers);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_LOOP_PROGRAM_H_
