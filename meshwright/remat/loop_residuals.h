// Residuals: what the iterations of a forward scan save for those of a reverse
// scan.
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

// A stacked array that a loop writes slot by slot.
struct Residual {
  struct Reader {
    Instruction* loop = nullptr;
    int64_t element = 0;
  };
  int64_t element = 0;            // Of the loop that writes it.
  Instruction* write = nullptr;   // The dynamic-update-slice in its body.
  std::vector<Reader> readers;    // Reverse scans that read it.
  bool is_only_read_back = true;  // Nothing else reads it.

  Instruction* update() const { return write->operands[1]; }
  int64_t dimension = 0;
  // The slot index that an iteration writes, in the body.
  Instruction* slot() const { return write->operands[2 + dimension]; }
};

struct LoopResiduals {
  CountedLoop counted;
  // All are written in the same order, one slot per iteration, over slots 0 to
  // count - 1.
  int64_t first = 0;
  int64_t step = 0;
  std::vector<Residual> residuals;

  bool HasReaders() const;
};

// The residuals of a loop in `around`; none if no reverse scan reads what it
// writes. `why`: if some other loop reads it, the reason why that is not a
// reverse scan. Requires: calls are inlined.
LoopResiduals FindResiduals(const Computation& around, Instruction& loop,
                            std::string& why);

// The reads of a residual in the body of a reverse scan.
std::vector<Instruction*> ReadsOf(const Residual::Reader& reader);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_RESIDUALS_H_
