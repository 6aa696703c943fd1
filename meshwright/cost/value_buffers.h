// Where the values of a computation lie in memory, and from which kernel until
// which.
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

// Memory that one or more values of a computation name.
struct Buffer {
  static constexpr int32_t kNever = -1;

  int64_t bytes = 0;
  bool external = false;       // A parameter, a constant.
  bool result = false;         // Somebody else provides its memory.
  bool kept = false;           // Lives until the end.
  bool placed = false;         // Lies in an argument that is read no more.
  int32_t defined = kNever;    // The kernel that writes it.
  int32_t last_read = kNever;  // The last kernel that reads it.
};

// The buffers of each instruction's leaf arrays.
class ValueBuffers {
 public:
  // `early_copies`: copies of inputs are made as soon as these are there; else
  // they are their kernel's scratch.
  ValueBuffers(const Computation& computation, absl::Span<const Kernel> kernels,
               bool early_copies, UnchangedLeaves& unchanged);

  const std::vector<int32_t>& of(const Instruction& instruction) const {
    return leaves_[instruction.id];
  }

  std::vector<Buffer> buffers;
  // In another order, for kernels to read.
  struct Copy {
    int32_t leaf = 0;
    std::vector<int64_t> order;  // Of such as are shared.
    int64_t bytes = 0;
    int32_t made = 0;  // After this kernel,
    int32_t read = 0;  // until this one has run.
    bool placed = false;
  };
  std::vector<Copy> copies;
  std::vector<int64_t> in_scratch;  // By kernel, of its scratch: copies.
  // Kernels that copies of their result compute again, from the same inputs.
  absl::flat_hash_set<int32_t> again;

 private:
  // What nobody reads as it is, and elementwise kernels make, is written in the
  // order in which it is wanted; copies are read from the rest.
  void WriteTurned(const Computation& computation,
                   absl::Span<const Kernel> kernels);
  // Those that want the same order read the same copy.
  void Share(Copy copy);
  std::vector<int32_t> NewBuffers(const Shape& shape, Buffer buffer);
  // What no iteration changes stays where it was.
  std::vector<int32_t> LeavesOfLoop(const Instruction& loop, int32_t kernel);
  std::vector<int32_t> LeavesOf(const Instruction& instruction, int32_t kernel);

  UnchangedLeaves& unchanged_;
  std::vector<std::vector<int32_t>> leaves_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_VALUE_BUFFERS_H_
