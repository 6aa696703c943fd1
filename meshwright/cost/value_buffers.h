// The buffers of the values of a computation, and their lifetimes in kernels.
#ifndef MESHWRIGHT_COST_VALUE_BUFFERS_H_
#define MESHWRIGHT_COST_VALUE_BUFFERS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "meshwright/cost/kernels.h"
#include "meshwright/cost/unchanged_leaves.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// The memory of one or more values of a computation.
struct Buffer {
  static constexpr int32_t kNever = -1;

  int64_t bytes = 0;
  bool external = false;       // Of a parameter or a constant.
  bool result = false;         // Its memory is provided by the caller.
  bool kept = false;           // Lives until the end.
  bool placed = false;         // Placed in a donated argument.
  int32_t defined = kNever;    // The kernel that writes it.
  int32_t last_read = kNever;  // The last kernel that reads it.
};

// The buffers of each instruction's leaf arrays.
class ValueBuffers {
 public:
  // `early_copies`: copies of inputs are made as soon as the inputs are ready;
  // otherwise they are scratch memory of their kernel.
  ValueBuffers(const Computation& computation, absl::Span<const Kernel> kernels,
               bool early_copies, UnchangedLeaves& unchanged);

  const std::vector<int32_t>& of(const Instruction& instruction) const {
    return leaves_[instruction.id];
  }

  std::vector<Buffer> buffers;
  // A copy in another layout, for kernels to read.
  struct Copy {
    int32_t leaf = 0;
    std::vector<int64_t> order;  // Of shared copies.
    int64_t bytes = 0;
    int32_t made = 0;  // Made after this kernel,
    int32_t read = 0;  // last read by this one.
    bool placed = false;
  };
  std::vector<Copy> copies;
  // By kernel, the part of its scratch memory that is copies.
  std::vector<int64_t> in_scratch;
  // Kernels that copies of their result recompute, from the same inputs.
  absl::flat_hash_set<int32_t> again;

 private:
  // A value that is read in one other layout only and written by an elementwise
  // kernel is written in that layout; other layouts are copies.
  void WriteTurned(const Computation& computation,
                   absl::Span<const Kernel> kernels);
  // Kernels that need the same layout read the same copy.
  void Share(Copy copy);
  std::vector<int32_t> NewBuffers(const Shape& shape, Buffer buffer);
  // Loop-invariant leaves share the buffer outside of the loop.
  std::vector<int32_t> LeavesOfLoop(const Instruction& loop, int32_t kernel);
  std::vector<int32_t> LeavesOf(const Instruction& instruction, int32_t kernel);

  UnchangedLeaves& unchanged_;
  std::vector<std::vector<int32_t>> leaves_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_VALUE_BUFFERS_H_
