// What each iteration of a counted loop does with what the loop carries.
//
//   scan over w f32[12,64,64], x f32[8,64]        (as JAX lowers it)
//     i    kKnown      0, 1, ..., 12
//     x    kCarried    another value after every iteration
//     w    kStacked    iteration t reads w[t]; never changes
//     ys   kStacked    iteration t writes ys[t]
//     mask kInvariant  the same in every iteration
//
// The loop of the gradients walks the other way: iteration t reads and writes
// slot 11 - t.
#ifndef MESHWRIGHT_LOOPS_COUNTED_LOOP_H_
#define MESHWRIGHT_LOOPS_COUNTED_LOOP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct LoopElement {
  enum class Kind : uint8_t { kKnown, kStacked, kInvariant, kCarried };
  Kind kind = Kind::kCarried;
  // kKnown: its value before iteration t, and after the last; a scalar integer.
  std::vector<int64_t> values;
  // kStacked: iteration t uses the `width` elements of this dimension that
  // begin at first + t * step, and no others; step is width or -width.
  int64_t dimension = 0;
  int64_t first = 0;
  int64_t step = 0;
  int64_t width = 0;
  bool is_written = false;

  // What iterations [begin, end) use.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Range SlotsOf(int64_t begin, int64_t end) const;
};

struct CountedLoop {
  int64_t count = 0;                  // Iterations, 2 at least.
  std::vector<LoopElement> elements;  // By element of the tuple.
};

// nullopt when the loop is not counted, carries no tuple of arrays, or hands
// its tuple on whole. Requires: `loop` is a while that passed Verify, and calls
// are inlined.
std::optional<CountedLoop> AnalyzeLoop(const Instruction& loop);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_COUNTED_LOOP_H_
