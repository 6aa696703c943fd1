// What the iterations of a loop leave for those of a loop that walks back.
//
//   for i = 0, 1, 2:  saved[i] = f(x, w[i]);  x = g(x, w[i])      forward
//   for i = 2, 1, 0:  d = h(d, saved[i], w[i])                    backward
#ifndef MESHWRIGHT_REMAT_LOOP_RESIDUALS_H_
#define MESHWRIGHT_REMAT_LOOP_RESIDUALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/loops/counted_loop.h"

namespace meshwright {

// A stack that a loop writes slot by slot.
struct Residual {
  struct Reader {
    Instruction* loop = nullptr;
    int64_t element = 0;
  };
  int64_t element = 0;            // Of the loop that writes it.
  Instruction* write = nullptr;   // In its body: the dynamic-update-slice.
  std::vector<Reader> readers;    // Loops that walk back over it.
  bool is_only_read_back = true;  // Nobody else needs it.

  Instruction* update() const { return write->operands[1]; }
  int64_t dimension = 0;
  // Where an iteration writes, in the body.
  Instruction* slot() const { return write->operands[2 + dimension]; }
};

struct LoopResiduals {
  CountedLoop counted;
  // All walk alike, one slot at a time, over slots 0 to count - 1.
  int64_t first = 0;
  int64_t step = 0;
  std::vector<Residual> residuals;

  bool HasReaders() const;
};

// Of a loop in `around`; no residuals where there is no loop that walks back
// over what it leaves. `why`: then, if a loop reads it all the same, what is in
// the way. Requires: calls are inlined.
LoopResiduals FindResiduals(const Computation& around, Instruction& loop,
                            std::string& why);

// The reads of a residual in the body of a loop that walks back over it.
std::vector<Instruction*> ReadsOf(const Residual::Reader& reader);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_RESIDUALS_H_
