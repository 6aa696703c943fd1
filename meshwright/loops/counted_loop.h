// What each iteration of a counted loop does with the elements of the loop's
// tuple.
//
//   scan over w f32[12,64,64], x f32[8,64]        (as lowered by JAX)
//     i    kKnown      0, 1, ..., 12
//     x    kCarried    another value after every iteration
//     w    kStacked    iteration t reads w[t]; never changes
//     ys   kStacked    iteration t writes ys[t]
//     mask kInvariant  the same in every iteration
//
// The reverse scan of the gradients runs in the other direction: its iteration
// t reads and writes slot 11 - t.
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
  // kKnown: its value, a scalar integer, before each iteration and after the
  // last.
  std::vector<int64_t> values;
  // kStacked: iteration t uses only the `width` elements of this dimension that
  // begin at first + t * step; step is width or -width.
  int64_t dimension = 0;
  int64_t first = 0;
  int64_t step = 0;
  int64_t width = 0;
  bool is_written = false;

  // The slots that iterations [begin, end) use.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  Range SlotsOf(int64_t begin, int64_t end) const;
};

struct CountedLoop {
  int64_t count = 0;                  // Iterations, at least 2.
  std::vector<LoopElement> elements;  // By element of the tuple.
};

// nullopt if the loop is not counted, its tuple contains anything but arrays,
// or it passes its tuple on as a whole. Requires: `loop` is a while that passed
// Verify, and calls are inlined.
std::optional<CountedLoop> AnalyzeLoop(const Instruction& loop);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_COUNTED_LOOP_H_
