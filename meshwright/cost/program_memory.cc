#include "meshwright/cost/program_memory.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "meshwright/cost/donated_buffers.h"
#include "meshwright/cost/unchanged_leaves.h"
#include "meshwright/cost/value_buffers.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

constexpr int64_t kPointerBytes = 8;

// The kernel at which it is reached.
bool CanBeCounted(const Module& module) {
  double bytes = 0;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      bytes += static_cast<double>(ByteSize(instruction->shape));
    }
  }
  return bytes < 0x1p60;
}

struct Peak {
  int64_t bytes = 0;
  // The peak memory of temporaries. `take_over[i]`: the leaf of the parameters
  // whose buffer leaf i of the result may reuse, -1 if none. Temporaries may
  // use donated arguments that are no longer read, if `in_arguments`.
  int32_t kernel = -1;

  void Reach(int64_t other, int32_t at) {
    if (other > bytes) *this = {other, at};
  }
};

class Estimator {
 public:
  Estimator(const ProgramKernels& kernels, const FusionStyle& style)
      : kernels_(kernels), style_(style) {}

  // Additional bytes during a kernel,
  Peak Temporaries(const Computation& computation,
                   absl::Span<const int32_t> take_over, bool in_arguments) {
    const auto found = kernels_.find(&computation);
    if (found == kernels_.end()) return {};
    const std::vector<Kernel>& kernels = found->second;
    ValueBuffers values(computation, kernels, style_.runs_when_ready,
                        unchanged_);
    MarkResults(computation, kernels, take_over, values);
    PassThroughLoops(kernels, values);
    if (in_arguments) UseArguments(computation, kernels, take_over, values);
    int64_t live = 0;
    Peak most;
    std::vector<int64_t> copied(kernels.size() + 1, 0);  // and after it.
    // Bytes that only copies read.
    std::vector<int64_t> later(kernels.size(), 0);
    for (const ValueBuffers::Copy& copy : values.copies) {
      if (copy.placed) continue;
      const bool after = !copy.order.empty() && copy.made < copy.read &&
                         !values.again.contains(copy.made);
      (after ? later : copied)[copy.made] += copy.bytes;
      copied[copy.read + 1] -= copy.bytes;
    }
    std::vector<std::vector<int32_t>> dying(kernels.size());
    for (int32_t b = 0; b < std::ssize(values.buffers); ++b) {
      const Buffer& buffer = values.buffers[b];
      if (!IsTemporary(buffer) || buffer.placed) continue;
      dying[std::max(buffer.last_read, buffer.defined)].push_back(b);
    }
    for (int32_t k = 0; k < std::ssize(kernels); ++k) {
      const int64_t freed = TakenOver(kernels[k], k, values);
      live += copied[k] - freed;
      for (const int32_t leaf : ResultsOf(kernels[k], values)) {
        const Buffer& buffer = values.buffers[leaf];
        if (buffer.defined != k || buffer.result || buffer.placed) continue;
        live += buffer.bytes;
      }
      const int64_t scratch = kernels[k].scratch_bytes - values.in_scratch[k] +
                              kernels[k].workspace_bytes;
      most.Reach(live + scratch + Inside(*kernels[k].root), k);
      // Puts temporaries into buffers of donated arguments until the results
      // are written there. The result of a loop is in its buffer from before
      // the loop starts: those buffers are left alone.
      int64_t made = 0;
      for (const int32_t b : dying[k]) {
        const Buffer& buffer = values.buffers[b];
        (buffer.defined == k ? made : live) -= buffer.bytes;
      }
      live += freed + later[k];
      most.Reach(live, k);
      live += made;
    }
    return most;
  }

 private:
  static bool IsTemporary(const Buffer& buffer) {
    return buffer.defined != Buffer::kNever && !buffer.result && !buffer.kept;
  }

  // Marks results that have a buffer of their own, or that of a parameter.
  static void UseArguments(const Computation& computation,
                           absl::Span<const Kernel> kernels,
                           absl::Span<const int32_t> take_over,
                           ValueBuffers& values) {
    const std::vector<int32_t>& root = values.of(*computation.root());
    const std::vector<int32_t> parameters = ParametersOf(computation, values);
    std::vector<DonatedBuffer> places;
    for (size_t i = 0; i < root.size() && i < take_over.size(); ++i) {
      const Buffer& result = values.buffers[root[i]];
      if (take_over[i] == Buffer::kNever || !result.result ||
          result.defined == Buffer::kNever ||
          kernels[result.defined].root->opcode == Opcode::kWhile) {
        continue;
      }
      const Buffer& argument = values.buffers[parameters[take_over[i]]];
      places.push_back({argument.bytes, argument.last_read, result.defined});
    }
    std::vector<PlacedValue> candidates;
    std::vector<bool*> chosen;
    for (Buffer& buffer : values.buffers) {
      if (!IsTemporary(buffer)) continue;
      candidates.push_back({buffer.bytes, buffer.defined,
                            std::max(buffer.last_read, buffer.defined)});
      chosen.push_back(&buffer.placed);
    }
    for (ValueBuffers::Copy& copy : values.copies) {
      candidates.push_back({copy.bytes, copy.made, copy.read});
      chosen.push_back(&copy.placed);
    }
    const std::vector<bool> placed = FillDonated(std::move(places), candidates);
    for (size_t i = 0; i < placed.size(); ++i) *chosen[i] = placed[i];
  }

  static std::vector<int32_t> ParametersOf(const Computation& computation,
                                           const ValueBuffers& values) {
    std::vector<int32_t> parameters;
    for (const Instruction* parameter : computation.Parameters()) {
      const auto& leaves = values.of(*parameter);
      parameters.insert(parameters.end(), leaves.begin(), leaves.end());
    }
    return parameters;
  }

  // Written while the old value is still read: it needs a buffer of its own.
  static void MarkResults(const Computation& computation,
                          absl::Span<const Kernel> kernels,
                          absl::Span<const int32_t> take_over,
                          ValueBuffers& values) {
    const std::vector<int32_t>& root = values.of(*computation.root());
    const std::vector<int32_t> parameters = ParametersOf(computation, values);
    for (size_t i = 0; i < root.size(); ++i) {
      Buffer& buffer = values.buffers[root[i]];
      buffer.result = true;
      if (i >= take_over.size() || take_over[i] == Buffer::kNever) continue;
      if (buffer.defined == Buffer::kNever) continue;
      const int32_t old = parameters[take_over[i]];
      const int32_t last_read = values.buffers[old].last_read;
      // The initial value of a loop-carried value is in the buffer of the
      // loop's result.
      if (last_read > buffer.defined ||
          (last_read == buffer.defined &&
           !InPlace(kernels[buffer.defined], old, root[i], values))) {
        buffer.result = false;
        buffer.kept = true;
      }
    }
  }

  static bool InPlace(const Kernel& kernel, int32_t leaf, int32_t result,
                      const ValueBuffers& values) {
    if (kernel.root->opcode == Opcode::kWhile) {
      const std::vector<int32_t>& from = values.of(*kernel.root->operands[0]);
      const std::vector<int32_t>& to = values.of(*kernel.root);
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i] == leaf && to[i] == result) return true;
      }
      return false;
    }
    for (const int32_t input : kernel.in_place) {
      const auto& leaves = values.of(*kernel.inputs[input]);
      if (leaves.size() == 1 && leaves[0] == leaf) return true;
    }
    return false;
  }

  // Bytes of inputs whose buffers the kernel's results reuse.
  static void PassThroughLoops(absl::Span<const Kernel> kernels,
                               ValueBuffers& values) {
    for (int32_t k = static_cast<int32_t>(kernels.size()) - 1; k >= 0; --k) {
      const Instruction& root = *kernels[k].root;
      if (root.opcode != Opcode::kWhile) continue;
      const std::vector<int32_t>& from = values.of(*root.operands[0]);
      const std::vector<int32_t>& to = values.of(root);
      for (size_t i = 0; i < to.size() && i < from.size(); ++i) {
        Buffer& start = values.buffers[from[i]];
        if (values.buffers[to[i]].result && start.last_read == k) {
          start.result = start.result || start.defined != Buffer::kNever;
        }
      }
    }
  }

  static std::vector<int32_t> ResultsOf(const Kernel& kernel,
                                        const ValueBuffers& values) {
    std::vector<int32_t> leaves = values.of(*kernel.root);
    for (const Instruction* result : kernel.more_results) {
      const auto& more = values.of(*result);
      leaves.insert(leaves.end(), more.begin(), more.end());
    }
    return leaves;
  }

  // A buffer is reused once.
  int64_t TakenOver(const Kernel& kernel, int32_t k,
                    const ValueBuffers& values) {
    int64_t bytes = 0;
    // Each input's buffer goes to one result.
    absl::flat_hash_set<int32_t> gone;
    const auto take = [&](int32_t leaf, int64_t wanted) {
      const Buffer& buffer = values.buffers[leaf];
      if (!IsTemporary(buffer) || buffer.placed || buffer.last_read != k ||
          buffer.bytes != wanted || !gone.insert(leaf).second) {
        return false;
      }
      bytes += buffer.bytes;
      return true;
    };
    const Instruction& root = *kernel.root;
    const std::vector<int32_t> results = ResultsOf(kernel, values);
    if (root.opcode == Opcode::kWhile || root.opcode == Opcode::kScatter ||
        (root.opcode == Opcode::kAllReduce && style_.all_reduce_in_place)) {
      size_t leaf = 0;
      for (const Instruction* operand : root.operands) {
        for (const int32_t from : values.of(*operand)) {
          if (leaf >= results.size()) return bytes;
          const int32_t to = results[leaf++];
          if (to != from) take(from, values.buffers[to].bytes);
        }
      }
      return bytes;
    }
    if (results.size() != 1 + kernel.more_results.size()) return 0;
    if (values.again.contains(k)) return 0;
    // Additional memory of the computations that a control-flow instruction
    // runs.
    std::vector<bool> taken(kernel.in_place.size(), false);
    for (const int32_t result : results) {
      for (size_t i = 0; i < taken.size(); ++i) {
        const auto& from = values.of(*kernel.inputs[kernel.in_place[i]]);
        if (taken[i] || from.size() != 1) continue;
        taken[i] = take(from[0], values.buffers[result].bytes);
        if (taken[i]) break;
      }
    }
    return bytes;
  }

  // The leaf of a tuple at `path`.
  int64_t Inside(const Instruction& instruction) {
    if (!IsControlFlow(instruction.opcode)) return 0;
    int64_t most = 0;
    for (const Computation* called : instruction.called) {
      const auto [known, is_new] = inside_.try_emplace(called, 0);
      if (!is_new) {
        most = std::max(most, known->second);
        continue;
      }
      std::vector<int32_t> take_over;
      if (instruction.opcode == Opcode::kWhile &&
          called->root()->shape.IsTuple()) {
        take_over.resize(Leaves(called->root()->shape).size());
        std::iota(take_over.begin(), take_over.end(), 0);
      }
      const int64_t bytes =
          Temporaries(*called, take_over, /*in_arguments=*/false).bytes;
      inside_[called] = bytes;
      most = std::max(most, bytes);
    }
    return most;
  }

  const ProgramKernels& kernels_;
  const FusionStyle style_;
  UnchangedLeaves unchanged_;
  absl::flat_hash_map<const Computation*, int64_t> inside_;
};

// The leaf of a tuple that `path` leads to.
int32_t LeafAt(const Shape& shape, size_t leaf_count,
               absl::Span<const int64_t> path) {
  if (path.size() == 1 && leaf_count == shape.tuple_shapes.size()) {
    return static_cast<int32_t>(path[0]);
  }
  int32_t leaf = 0;
  const Shape* at = &shape;
  for (const int64_t index : path) {
    for (int64_t i = 0; i < index; ++i) {
      leaf += static_cast<int32_t>(Leaves(at->tuple_shapes[i]).size());
    }
    at = &at->tuple_shapes[index];
  }
  return leaf;
}

}  // namespace

ProgramKernels KernelsOf(const Module& module, const ModuleWork& work,
                         const FusionStyle& style) {
  ProgramKernels kernels;
  std::vector<const Computation*> open = {module.entry()};
  while (!open.empty()) {
    const Computation* computation = open.back();
    open.pop_back();
    if (kernels.contains(computation)) continue;
    kernels[computation] = KernelsOf(*computation, work, style);
    for (const auto& instruction : computation->instructions()) {
      if (!IsControlFlow(instruction->opcode) && !IsKernel(*instruction)) {
        continue;
      }
      open.insert(open.end(), instruction->called.begin(),
                  instruction->called.end());
    }
  }
  return kernels;
}

ProgramBytes EstimateMemory(const Module& module, const ProgramKernels& kernels,
                            const FusionStyle& style) {
  if (!CanBeCounted(module)) {
    return {.arguments = std::numeric_limits<int64_t>::max()};
  }
  ProgramBytes bytes;
  std::vector<int32_t> first_leaf;  // A tuple is a table of pointers.
  int32_t leaves = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    bytes.arguments += ByteSize(parameter->shape);
    first_leaf.push_back(leaves);
    leaves += static_cast<int32_t>(Leaves(parameter->shape).size());
  }
  const Shape& result = module.entry()->root()->shape;
  const std::vector<const Shape*> results = Leaves(result);
  bytes.outputs = ByteSize(result);
  // A tuple is a table of pointers.
  if (result.IsTuple()) bytes.outputs += kPointerBytes * std::ssize(results);
  std::vector<int32_t> take_over(results.size(), Buffer::kNever);
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (const Alias& alias : module.aliases) {
    const int32_t output = LeafAt(result, results.size(), alias.output_index);
    take_over[output] = first_leaf[alias.parameter_number] +
                        LeafAt(parameters[alias.parameter_number]->shape, 0,
                               alias.parameter_index);
    bytes.aliased += ByteSize(*results[output]);
  }
  const Peak most =
      Estimator(kernels, style)
          .Temporaries(*module.entry(), take_over, style.runs_when_ready);
  bytes.temporaries = most.bytes;
  if (most.kernel >= 0) {
    bytes.peak_at = kernels.at(module.entry())[most.kernel].root;
  }
  return bytes;
}

// The type of the unit that computes contractions of `type` (cf. MatmulFlops).
}  // namespace meshwright
