#include "meshwright/cost/kernels.h"

#include <algorithm>
#include <cmath>

#include "meshwright/cost/kernel_copies.h"
#include "meshwright/cost/kernel_order.h"
#include "meshwright/cost/merge_kernels.h"
#include "meshwright/cost/stored_values.h"
#include "meshwright/cost/workspaces.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Compilers stop fusing when kernels grow large; so do we.
constexpr int32_t kMaxInputs = 32;
constexpr int32_t kMaxFused = 128;
// Of a sum over columns, by the threads of a block.
constexpr double kRowsAtOnce = 32;

// Whether recomputing the value reads no more than reading it would.
bool CheapToRepeat(const Instruction& instruction) {
  int large = 0;
  int64_t bytes = 0;
  for (const Instruction* operand : instruction.operands) {
    if (IsConstantLike(*operand)) continue;
    bytes += ByteSize(operand->shape);
    large += TrueRank(operand->shape) >= TrueRank(instruction.shape);
  }
  return large <= 1 || bytes <= ByteSize(instruction.shape);
}

bool KeepsPlaces(const Instruction& instruction) {
  return !IsMovement(instruction.opcode);
}

// Whether the operand is a dot of two matrices: its result can be written in
// the order in which it is read.
bool IsProduct(const Instruction& operand) {
  const Instruction* at = &operand;
  while (at->opcode == Opcode::kConvert || at->opcode == Opcode::kReshape) {
    at = at->operands[0];
  }
  return at->opcode == Opcode::kDot && TrueRank(at->shape) == 2;
}

// Whether the innermost dimension, among those with more than one element,
// changes.
bool MovesMinor(const Instruction& transpose) {
  const auto& dimensions = transpose.attributes->dimensions;
  int64_t minor = std::ssize(dimensions) - 1;
  while (minor > 0 && transpose.shape.dimensions[minor] == 1) --minor;
  for (size_t i = dimensions[minor] + 1; i < dimensions.size(); ++i) {
    if (transpose.operand_shape(0).dimensions[i] > 1) return true;
  }
  return false;
}

// Libraries write the results of convolutions with the batch dimension first.
// If another order is wanted, as for the gradient of a filter, the kernels that
// read the result transpose it.
bool ComesTurned(const Instruction& instruction) {
  return instruction.opcode == Opcode::kConvolution &&
         instruction.attributes->convolution.has_value() &&
         instruction.attributes->convolution->output_batch != 0;
}

// Whether loops over the elements no longer run along memory: compilers then
// compute an index for each element. An accelerator always does that, and is
// slower only where neighbours do not stay together.
bool Reorders(const Instruction& instruction, bool accelerator) {
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::kReshape) {
    return !accelerator && TrueRank(instruction.shape) !=
                               TrueRank(instruction.operand_shape(0));
  }
  if (!ReordersElements(opcode) || IsFree(instruction)) return false;
  if (!accelerator) return true;
  if (opcode == Opcode::kTranspose) {
    return MovesMinor(instruction) && !IsProduct(*instruction.operands[0]);
  }
  return opcode != Opcode::kConcatenate && opcode != Opcode::kPad;
}

bool Repeats(const Instruction& user) {
  return user.opcode == Opcode::kBroadcast || user.opcode == Opcode::kGather ||
         user.opcode == Opcode::kPad;
}

// Passes over memory of a bitonic sorting network: about one in three of its
// layers of comparisons goes through memory, the others stay in a block's own
// memory.
double PassesOfSort(const Instruction& sort) {
  const int64_t along = sort.attributes->dimensions[0];
  const double size =
      static_cast<double>(sort.operand_shape(0).dimensions[along]);
  const double merges = std::ceil(std::log2(std::max(2.0, size)));
  return std::max(1.0, 0.3 * merges * (merges + 1) / 2);
}

class Fuser {
 public:
  Fuser(const Computation& computation, const ModuleWork& work,
        const FusionStyle& style)
      : computation_(computation),
        work_(work),
        style_(style),
        users_(Users(computation)),
        facts_(computation.size()),
        seen_(computation.size(), -1) {}

  std::vector<Kernel> Run() {
    if (style_.fuses_rows) {
      const auto chosen = ChooseStored(computation_, users_);
      for (size_t i = 0; i < facts_.size(); ++i) {
        facts_[i].stored = chosen[i].stored;
        facts_[i].shared = chosen[i].shared;
      }
    } else {
      Decide();
      LimitSizes();
    }
    std::vector<Kernel> kernels;
    for (const auto& instruction : computation_.instructions()) {
      if (IsFree(*instruction)) continue;
      const Facts& facts = facts_[instruction->id];
      if (Fuses(*instruction) && !facts.stored) continue;
      kernels.push_back(Gather(*instruction));
    }
    if (style_.fuses_rows) Merge(kernels);
    if (!style_.runs_when_ready) return kernels;
    return InOrderOfReadiness(computation_, std::move(kernels));
  }

 private:
  struct Facts {
    bool needed = false;  // An instruction that cannot fuse needs it in memory,
    bool direct = false;  // and not only a reshape of it.
    bool stored = false;  // It is the root of a kernel.
    bool shared = false;  // Kernels that could recompute it read it instead.
    int32_t inputs = 0;   // Of a fused one: an upper bound.
    int32_t fused = 0;
  };

  // Whether `user` needs its operands complete in memory.
  bool NeedsWhole(const Instruction& user) const {
    if (user.opcode == Opcode::kTuple || user.opcode == Opcode::kOptBarrier) {
      return true;
    }
    if (IsFree(user)) return facts_[user.id].needed;
    if (user.opcode == Opcode::kReduce) return !style_.reduce_reads_fused;
    return !IsFusible(user);
  }

  // Whether `user` writes a slice into `value` in place, a rearrangement such
  // as a broadcast of zeros, which must then be in memory. Other users
  // recompute it.
  bool UpdatesInPlace(const Instruction& user, const Instruction& value) const {
    return !style_.fuses_rows && user.opcode == Opcode::kDynamicUpdateSlice &&
           user.operands[0] == &value && facts_[user.id].stored &&
           IsMovement(value.opcode);
  }

  bool Fuses(const Instruction& instruction) const {
    return IsFusible(instruction) ||
           (style_.fuses_rows && IsRowReduction(instruction));
  }

  void Decide() {
    const auto& instructions = computation_.instructions();
    for (size_t i = instructions.size(); i-- > 0;) {
      const Instruction& instruction = *instructions[i];
      Facts& facts = facts_[instruction.id];
      facts.needed = facts.direct = &instruction == computation_.root();
      int fusing = 0;
      bool repeated = false;
      for (const Instruction* user : users_[instruction.id]) {
        if (UpdatesInPlace(*user, instruction)) {
          facts.needed = true;
        } else if (NeedsWhole(*user)) {
          facts.needed = true;
          facts.direct = facts.direct || !TakesReshaped(*user, instruction);
        } else {
          ++fusing;
          repeated = repeated || RepeatsThrough(*user);
        }
      }
      if (!IsFusible(instruction)) continue;
      const bool expensive = IsExpensive(instruction);
      const bool once = expensive && (fusing > 1 || repeated);
      facts.stored = facts.needed || once;
      facts.shared = once || (facts.needed && expensive) ||
                     (facts.direct && !CheapToRepeat(instruction));
    }
  }

  // Whether the user is a reshape, or an op before which compilers put one: a
  // kernel of its own, which computes its operand as others do.
  static bool TakesReshaped(const Instruction& user, const Instruction& value) {
    if (user.opcode == Opcode::kReshape || user.opcode == Opcode::kBitcast) {
      return true;
    }
    const auto& numbers = user.attributes->dot;
    if (user.opcode != Opcode::kDot || !numbers) return false;
    const bool left = user.operands[0] == &value;
    const auto& batch = left ? numbers->lhs_batch : numbers->rhs_batch;
    const auto& contracted =
        left ? numbers->lhs_contracting : numbers->rhs_contracting;
    return contracted.size() != 1 || value.shape.rank() > std::ssize(batch) + 2;
  }

  // Whether the user reads elements several times, by itself or through a
  // reshape.
  bool RepeatsThrough(const Instruction& user) const {
    if (Repeats(user)) return true;
    if (!IsFree(user)) return false;
    return std::any_of(users_[user.id].begin(), users_[user.id].end(),
                       [](const Instruction* next) { return Repeats(*next); });
  }

  bool IsInput(const Instruction& instruction) const {
    if (IsGiven(instruction)) return true;
    if (IsFree(instruction)) return false;
    return !Fuses(instruction) || facts_[instruction.id].shared;
  }

  void LimitSizes() {
    for (const auto& instruction : computation_.instructions()) {
      Facts& facts = facts_[instruction->id];
      if (IsInput(*instruction)) {
        facts.inputs = 1;
        continue;
      }
      for (const Instruction* operand : instruction->operands) {
        const Facts& from = facts_[operand->id];
        facts.inputs += from.shared ? 1 : from.inputs;
        facts.fused += from.shared ? 0 : from.fused;
      }
      if (IsFusible(*instruction)) ++facts.fused;
      if (IsFusible(*instruction) &&
          (facts.inputs > kMaxInputs || facts.fused > kMaxFused)) {
        facts.stored = facts.shared = true;
      }
    }
  }

  // Whether a kernel with this root computes its operands, too.
  static bool Opens(const Instruction& root) {
    return IsFusible(root) || root.opcode == Opcode::kReduce;
  }

  Kernel Gather(const Instruction& root) {
    loops_.emplace_back();
    if (Opens(root)) {
      Kernel kernel = Gather(std::vector<const Instruction*>{&root});
      loops_.back().merges = !loops_.back().crosses && Merges(kernel);
      AddTurnedInputs(root, style_, kernel);
      return kernel;
    }
    Kernel kernel{.root = &root, .strided = Reorders(root, style_.fuses_rows)};
    // Collectives, and what control flow calls, are priced elsewhere.
    if (root.called.empty() ||
        !(IsControlFlow(root.opcode) || IsCollective(root.opcode) ||
          IsAsynchronous(root.opcode))) {
      kernel.work = work_.Of(root);
    }
    if (root.opcode == Opcode::kSort && style_.sorts_by_networks) {
      kernel.work.bytes *= PassesOfSort(root);
    }
    for (size_t i = 0; i < root.operands.size(); ++i) {
      AddInput(root, static_cast<int32_t>(i), kernel);
    }
    if (style_.transposes_for_convolution) AddConvolutionCopies(root, kernel);
    AddTurnedInputs(root, style_, kernel);
    if (style_.packs_for_dots) AddRepackedInputs(root, kernel);
    if (style_.has_workspaces) {
      kernel.workspace_bytes = WorkspaceBytes(root, SizesOf(root));
    }
    return kernel;
  }

  // Builds one kernel for all of `results`.
  Kernel Gather(const std::vector<const Instruction*>& results) {
    Kernel kernel{.root = results[0]};
    ++stamp_;
    for (const Instruction* result : results) seen_[result->id] = stamp_;
    for (const Instruction* result : results) {
      const Work own = work_.Of(*result);
      kernel.work.flops += own.flops;
      kernel.work.transcendentals += own.transcendentals;
      const Shape& written = result->opcode == Opcode::kDynamicUpdateSlice
                                 ? result->operands[1]->shape
                                 : result->shape;
      kernel.work.bytes += static_cast<double>(ByteSize(written));
      kernel.strided = kernel.strided || Reorders(*result, style_.fuses_rows);
      KernelLoop& loop = loops_.back();
      const bool reduces = result->opcode == Opcode::kReduce;
      loop.elements =
          ElementCount(reduces ? result->operand_shape(0) : result->shape);
      if (reduces) loop.reduced_to = &result->shape;
      result_ = result;
      Walk(*result, KeepsPlaces(*result), 1, kernel);
    }
    if (style_.fuses_rows) AddReductions(results, kernel);
    return kernel;
  }

  static void AddReductions(const std::vector<const Instruction*>& results,
                            Kernel& kernel) {
    for (const Instruction* fused : kernel.fused) AddRows(*fused, kernel);
    AddRows(*kernel.root, kernel);
    int64_t rows = 0;
    int64_t elements = 0;
    for (const Instruction* result : results) {
      if (ColumnLength(*result) <= rows) continue;
      rows = ColumnLength(*result);
      elements = ElementCount(result->operand_shape(0));
    }
    if (rows == 0) return;
    const auto is_whole = [&](const Instruction* array) {
      return array->shape.IsArray() && ElementCount(array->shape) >= elements;
    };
    const auto arrays =
        std::count_if(kernel.inputs.begin(), kernel.inputs.end(), is_whole) +
        std::count_if(results.begin(), results.end(), is_whole);
    kernel.column_steps = std::ceil(static_cast<double>(rows) / kRowsAtOnce) *
                          static_cast<double>(arrays);
  }

  static void AddRows(const Instruction& fused, Kernel& kernel) {
    if (!Shrinks(fused) || !IsRowReduction(fused)) return;
    const Shape& rows = fused.operand_shape(0);
    kernel.holds_rows = true;
    kernel.unaligned_rows = kernel.unaligned_rows ||
                            IsUnaligned(rows.element_type, rows.dimensions);
  }

  static bool Shrinks(const Instruction& fused) {
    return fused.opcode == Opcode::kReduce &&
           ElementCount(fused.shape) < ElementCount(fused.operand_shape(0));
  }

  // Whether the kernel reduces something before it is done.
  static bool FusesReduction(const Kernel& kernel) {
    return std::any_of(
        kernel.fused.begin(), kernel.fused.end(),
        [](const Instruction* fused) { return Shrinks(*fused); });
  }

  // Whether the kernel may be merged with others. Kernels that hold whole rows
  // have one result.
  bool Merges(const Kernel& kernel) const {
    const Instruction& root = *kernel.root;
    if (!root.shape.IsArray()) return false;
    if (root.opcode == Opcode::kDynamicUpdateSlice) return false;
    return !FusesReduction(kernel);
  }

  void Merge(std::vector<Kernel>& kernels) {
    std::vector<Kernel> merged;
    for (const KernelGroup& group :
         GroupKernels(computation_, kernels, loops_)) {
      if (group.members.size() == 1) {
        merged.push_back(std::move(kernels[group.members[0]]));
        continue;
      }
      std::vector<const Instruction*> results;
      for (const int32_t member : group.members) {
        results.push_back(kernels[member].root);
      }
      Kernel kernel = Gather(results);
      kernel.root = kernels[group.runs_at].root;
      for (const Instruction* result : results) {
        if (result != kernel.root) kernel.more_results.push_back(result);
      }
      merged.push_back(std::move(kernel));
    }
    kernels = std::move(merged);
  }

  // Adds an input of an instruction that needs it complete in memory.
  void AddInput(const Instruction& root, int32_t index, Kernel& kernel) {
    const Instruction* operand = root.operands[index];
    for (const Instruction* input : kernel.inputs) {
      if (input == operand) return;
    }
    kernel.inputs.push_back(operand);
    kernel.reads.push_back({&root, index});
  }

  // `share`: how much of the result of `user` is used.
  void Walk(const Instruction& user, bool elementwise, double share,
            Kernel& kernel) {
    for (size_t i = 0; i < user.operands.size(); ++i) {
      const Instruction* operand = user.operands[i];
      const bool whole =
          user.opcode == Opcode::kReduce && !style_.reduce_reads_fused;
      if (whole || IsInput(*operand) ||
          (&user == result_ && i == 0 && UpdatesInPlace(user, *operand))) {
        kernel.turns_filter =
            kernel.turns_filter || (style_.fuses_rows && ComesTurned(*operand));
        kernel.strided = kernel.strided || kernel.turns_filter;
        Read(user, static_cast<int32_t>(i), elementwise, share, kernel);
        continue;
      }
      if (seen_[operand->id] == stamp_) {
        if (!elementwise) OutOfOrder(*operand);
        continue;
      }
      seen_[operand->id] = stamp_;
      kernel.strided = kernel.strided || Reorders(*operand, style_.fuses_rows);
      if (!IsFree(*operand)) {
        kernel.fused.push_back(operand);
        const Work work = work_.Of(*operand);
        kernel.work.flops += work.flops;
        kernel.work.transcendentals += work.transcendentals;
      }
      double used = share;
      const double touched = TouchedBytes(user, *operand);
      if (style_.fuses_rows && touched > 0) {
        used *= std::min(
            1.0, touched / static_cast<double>(ByteSize(operand->shape)));
      }
      Walk(*operand, elementwise && KeepsPlaces(*operand), used, kernel);
    }
  }

  // Notes that a value is reached again along a path that does not keep the
  // order of elements.
  void OutOfOrder(const Instruction& value) {
    KernelLoop& loop = loops_.back();
    loop.crosses = loop.crosses || ElementCount(value.shape) >= loop.elements;
  }

  // Counts an operand when it is read for the first time.
  void Read(const Instruction& user, int32_t index, bool elementwise,
            double share, Kernel& kernel) {
    const Instruction& operand = *user.operands[index];
    const bool first = seen_[operand.id] != stamp_;
    seen_[operand.id] = stamp_;
    if (!first) {
      if (!elementwise) OutOfOrder(operand);
      return;
    }
    const bool update = user.opcode == Opcode::kDynamicUpdateSlice &&
                        user.operands[0] == &operand && &user == kernel.root;
    const double size = static_cast<double>(ByteSize(operand.shape));
    if ((elementwise || update) &&
        ByteSize(operand.shape) == ByteSize(result_->shape)) {
      kernel.in_place.push_back(static_cast<int32_t>(kernel.inputs.size()));
    }
    loops_.back().in_order.push_back(elementwise);
    kernel.inputs.push_back(&operand);
    const double touched = operand.opcode == Opcode::kConstant
                               ? 0
                               : share * TouchedBytes(user, operand);
    kernel.work.bytes += touched;
    kernel.reads.push_back({&user, index, size > 0 ? touched / size : 0});
  }

  const Computation& computation_;
  const ModuleWork& work_;
  const FusionStyle style_;
  const std::vector<std::vector<Instruction*>> users_;
  std::vector<Facts> facts_;
  std::vector<int32_t> seen_;  // The last kernel that reached it.
  int32_t stamp_ = -1;
  const Instruction* result_ = nullptr;  // Of the kernel being built.
  std::vector<KernelLoop> loops_;        // By kernel.
};

}  // namespace

FusionStyle FusionStyleFor(bool cpu) {
  return {.reduce_reads_fused = !cpu,
          .fuses_rows = !cpu,
          .transposes_for_convolution = cpu,
          .all_reduce_in_place = !cpu,
          .transposes_for_collectives = cpu,
          .transposes_for_dots = cpu,
          .packs_for_dots = cpu,
          .sorts_by_networks = !cpu,
          .runs_when_ready = cpu,
          .has_workspaces = !cpu};
}

std::vector<Kernel> KernelsOf(const Computation& computation,
                              const ModuleWork& work,
                              const FusionStyle& style) {
  return Fuser(computation, work, style).Run();
}

}  // namespace meshwright
