#include "meshwright/cost/program_memory.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "meshwright/cost/unchanged_leaves.h"

namespace meshwright {
namespace {

constexpr int32_t kNever = -1;
constexpr int64_t kPointerBytes = 8;

bool IsControlFlow(Opcode opcode) {
  return opcode == Opcode::kWhile || opcode == Opcode::kConditional ||
         opcode == Opcode::kCall;
}

// Memory that one or more values of a computation name.
struct Buffer {
  int64_t bytes = 0;
  bool external = false;       // A parameter, a constant.
  bool result = false;         // Somebody else provides its memory.
  bool kept = false;           // Lives until the end.
  int32_t defined = kNever;    // The kernel that writes it.
  int32_t last_read = kNever;  // The last kernel that reads it.
};

// The buffers of each instruction's leaf arrays.
class Buffers {
 public:
  // `early_copies`: copies of inputs are made as soon as these are there; else
  // they are their kernel's scratch.
  Buffers(const Computation& computation, absl::Span<const Kernel> kernels,
          bool early_copies, UnchangedLeaves& unchanged)
      : in_scratch(kernels.size(), 0),
        unchanged_(unchanged),
        leaves_(computation.size()) {
    std::vector<int32_t> kernel_of(computation.size(), kNever);
    for (int32_t k = 0; k < std::ssize(kernels); ++k) {
      kernel_of[kernels[k].root->id] = k;
      for (const Instruction* result : kernels[k].more_results) {
        kernel_of[result->id] = k;
      }
    }
    for (const auto& instruction : computation.instructions()) {
      leaves_[instruction->id] =
          LeavesOf(*instruction, kernel_of[instruction->id]);
    }
    for (int32_t k = 0; k < std::ssize(kernels); ++k) {
      const Kernel& kernel = kernels[k];
      for (int32_t i = 0; i < std::ssize(kernel.inputs); ++i) {
        const bool copied = early_copies && Has(kernel.copied, i);
        const bool turned = early_copies && Has(kernel.turned, i);
        for (const int32_t leaf : leaves_[kernel.inputs[i]->id]) {
          Buffer& buffer = buffers[leaf];
          const int32_t read =
              copied || turned ? std::max(buffer.defined, 0) : k;
          buffer.last_read = std::max(buffer.last_read, read);
          if (!copied && !turned) continue;
          Copy copy{
              .leaf = leaf, .bytes = buffer.bytes, .made = read, .read = k};
          if (copied) {
            copies.push_back(copy);
            in_scratch[k] += buffer.bytes;
          } else {
            copy.order = OrderFor(*kernel.root, i);
            Share(std::move(copy));
          }
        }
      }
    }
  }

  static bool Has(const std::vector<int32_t>& inputs, int32_t input) {
    return std::find(inputs.begin(), inputs.end(), input) != inputs.end();
  }

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
  };
  std::vector<Copy> copies;
  std::vector<int64_t> in_scratch;  // By kernel, of its scratch: copies.

 private:
  // Those that want the same order read the same copy.
  void Share(Copy copy) {
    for (Copy& known : copies) {
      if (known.leaf != copy.leaf || known.order != copy.order) continue;
      known.read = std::max(known.read, copy.read);
      return;
    }
    copies.push_back(std::move(copy));
  }

  // What tells orders apart.
  static std::vector<int64_t> OrderFor(const Instruction& root, int32_t input) {
    const auto& numbers = root.attributes->dot;
    if (!numbers) return root.attributes->dimensions;
    return input == 0 ? numbers->lhs_contracting : numbers->rhs_contracting;
  }

  std::vector<int32_t> NewBuffers(const Shape& shape, Buffer buffer) {
    std::vector<int32_t> leaves;
    for (const Shape* leaf : Leaves(shape)) {
      buffer.bytes = ByteSize(*leaf);
      leaves.push_back(static_cast<int32_t>(buffers.size()));
      buffers.push_back(buffer);
    }
    return leaves;
  }

  // What no iteration changes stays where it was.
  std::vector<int32_t> LeavesOfLoop(const Instruction& loop, int32_t kernel) {
    std::vector<int32_t> leaves = leaves_[loop.operands[0]->id];
    const std::vector<bool>& unchanged = unchanged_.Of(loop);
    const std::vector<const Shape*> shapes = Leaves(loop.shape);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!unchanged[i]) {
        leaves[i] = NewBuffers(*shapes[i], {.defined = kernel})[0];
      }
    }
    return leaves;
  }

  std::vector<int32_t> LeavesOf(const Instruction& instruction,
                                int32_t kernel) {
    switch (instruction.opcode) {
      case Opcode::kParameter:
      case Opcode::kConstant:
        return NewBuffers(instruction.shape, {.external = true});
      case Opcode::kTuple: {
        std::vector<int32_t> leaves;
        for (const Instruction* operand : instruction.operands) {
          const auto& part = leaves_[operand->id];
          leaves.insert(leaves.end(), part.begin(), part.end());
        }
        return leaves;
      }
      case Opcode::kGetTupleElement: {
        const auto& tuple = instruction.operand_shape(0).tuple_shapes;
        const int64_t index = instruction.attributes->tuple_index;
        const auto& all = leaves_[instruction.operands[0]->id];
        if (all.size() == tuple.size()) return {all[index]};  // Flat.
        size_t first = 0;
        for (int64_t i = 0; i < index; ++i) first += Leaves(tuple[i]).size();
        const size_t count = Leaves(tuple[index]).size();
        if (first + count > all.size()) return {};
        return {all.begin() + first, all.begin() + first + count};
      }
      default:
        break;
    }
    if (kernel != kNever) {
      if (instruction.opcode == Opcode::kWhile) {
        return LeavesOfLoop(instruction, kernel);
      }
      return NewBuffers(instruction.shape, {.defined = kernel});
    }
    if (IsFree(instruction) && !instruction.operands.empty()) {
      return leaves_[instruction.operands[0]->id];
    }
    return {};  // Fused away.
  }

  UnchangedLeaves& unchanged_;
  std::vector<std::vector<int32_t>> leaves_;
};

class Estimator {
 public:
  Estimator(const ProgramKernels& kernels, const FusionStyle& style)
      : kernels_(kernels), style_(style) {}

  // The most that temporaries take at once. `take_over[i]` is the parameter's
  // leaf whose memory leaf i of the result may take, -1 if none.
  int64_t Temporaries(const Computation& computation,
                      absl::Span<const int32_t> take_over) {
    const auto found = kernels_.find(&computation);
    if (found == kernels_.end()) return 0;
    const std::vector<Kernel>& kernels = found->second;
    Buffers values(computation, kernels, style_.runs_when_ready, unchanged_);
    MarkResults(computation, kernels, take_over, values);
    PassThroughLoops(kernels, values);
    int64_t live = 0;
    int64_t most = 0;
    std::vector<int64_t> copied(kernels.size() + 1, 0);  // More than before.
    std::vector<int64_t> scratch(kernels.size(), 0);
    for (size_t k = 0; k < kernels.size(); ++k) {
      scratch[k] = kernels[k].scratch_bytes - values.in_scratch[k];
    }
    for (const Buffers::Copy& copy : values.copies) {
      copied[copy.made] += copy.bytes;
      copied[copy.read + 1] -= copy.bytes;
    }
    std::vector<std::vector<int32_t>> dying(kernels.size());
    for (int32_t b = 0; b < std::ssize(values.buffers); ++b) {
      const Buffer& buffer = values.buffers[b];
      if (buffer.defined == kNever || buffer.result || buffer.kept) continue;
      dying[std::max(buffer.last_read, buffer.defined)].push_back(b);
    }
    for (int32_t k = 0; k < std::ssize(kernels); ++k) {
      const int64_t freed = TakenOver(kernels[k], k, values);
      live += copied[k] - freed;
      for (const int32_t leaf : ResultsOf(kernels[k], values)) {
        const Buffer& buffer = values.buffers[leaf];
        if (buffer.defined == k && !buffer.result) live += buffer.bytes;
      }
      most = std::max(most, live + scratch[k] + Inside(*kernels[k].root));
      for (const int32_t b : dying[k]) live -= values.buffers[b].bytes;
      live += freed;
    }
    return most;
  }

 private:
  // Results that have memory of their own, or a parameter's.
  static void MarkResults(const Computation& computation,
                          absl::Span<const Kernel> kernels,
                          absl::Span<const int32_t> take_over,
                          Buffers& values) {
    const std::vector<int32_t>& root = values.of(*computation.root());
    std::vector<int32_t> parameters;
    for (const Instruction* parameter : computation.Parameters()) {
      const auto& leaves = values.of(*parameter);
      parameters.insert(parameters.end(), leaves.begin(), leaves.end());
    }
    for (size_t i = 0; i < root.size(); ++i) {
      Buffer& buffer = values.buffers[root[i]];
      buffer.result = true;
      if (i >= take_over.size() || take_over[i] == kNever) continue;
      if (buffer.defined == kNever) continue;
      const int32_t old = parameters[take_over[i]];
      const int32_t last_read = values.buffers[old].last_read;
      // Written while the old value is still read: a place of its own.
      if (last_read > buffer.defined ||
          (last_read == buffer.defined &&
           !InPlace(kernels[buffer.defined], old, root[i], values))) {
        buffer.result = false;
        buffer.kept = true;
      }
    }
  }

  static bool InPlace(const Kernel& kernel, int32_t leaf, int32_t result,
                      const Buffers& values) {
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

  // What a loop starts from lies where its result will.
  static void PassThroughLoops(absl::Span<const Kernel> kernels,
                               Buffers& values) {
    for (int32_t k = static_cast<int32_t>(kernels.size()) - 1; k >= 0; --k) {
      const Instruction& root = *kernels[k].root;
      if (root.opcode != Opcode::kWhile) continue;
      const std::vector<int32_t>& from = values.of(*root.operands[0]);
      const std::vector<int32_t>& to = values.of(root);
      for (size_t i = 0; i < to.size() && i < from.size(); ++i) {
        Buffer& start = values.buffers[from[i]];
        if (values.buffers[to[i]].result && start.last_read == k) {
          start.result = start.result || start.defined != kNever;
        }
      }
    }
  }

  static std::vector<int32_t> ResultsOf(const Kernel& kernel,
                                        const Buffers& values) {
    std::vector<int32_t> leaves = values.of(*kernel.root);
    for (const Instruction* result : kernel.more_results) {
      const auto& more = values.of(*result);
      leaves.insert(leaves.end(), more.begin(), more.end());
    }
    return leaves;
  }

  // Bytes of inputs whose memory the kernel's results take.
  int64_t TakenOver(const Kernel& kernel, int32_t k, const Buffers& values) {
    int64_t bytes = 0;
    absl::flat_hash_set<int32_t> gone;  // A place is taken once.
    const auto take = [&](int32_t leaf, int64_t wanted) {
      const Buffer& buffer = values.buffers[leaf];
      if (buffer.defined == kNever || buffer.result || buffer.kept ||
          buffer.last_read != k || buffer.bytes != wanted ||
          !gone.insert(leaf).second) {
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
    // Each input goes to one result.
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

  // What the computations of a control-flow instruction need besides.
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
      const int64_t bytes = Temporaries(*called, take_over);
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
      if (!IsControlFlow(instruction->opcode)) continue;
      open.insert(open.end(), instruction->called.begin(),
                  instruction->called.end());
    }
  }
  return kernels;
}

ProgramBytes EstimateMemory(const Module& module, const ProgramKernels& kernels,
                            const FusionStyle& style) {
  ProgramBytes bytes;
  std::vector<int32_t> first_leaf;  // Of parameters, by number.
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
  std::vector<int32_t> take_over(results.size(), kNever);
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (const Alias& alias : module.aliases) {
    const int32_t output = LeafAt(result, results.size(), alias.output_index);
    take_over[output] = first_leaf[alias.parameter_number] +
                        LeafAt(parameters[alias.parameter_number]->shape, 0,
                               alias.parameter_index);
    bytes.aliased += ByteSize(*results[output]);
  }
  bytes.temporaries =
      Estimator(kernels, style).Temporaries(*module.entry(), take_over);
  return bytes;
}

}  // namespace meshwright
