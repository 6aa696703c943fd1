#include "meshwright/analysis/liveness.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// Fused instructions looked through for memory to take over.
constexpr int32_t kMaxFused = 32;

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum)
             ? std::numeric_limits<int64_t>::max()
             : sum;
}

bool IsLoop(const Instruction& instruction) {
  return instruction.opcode == Opcode::kWhile;
}

// Every array of its result is one of its operands', in order.
bool PassesOperands(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kAddDependency:
    case Opcode::kBitcast:
    case Opcode::kDomain:
    case Opcode::kOptBarrier:
    case Opcode::kReshape:
    case Opcode::kTuple:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

bool IsMadeOfScalars(const Instruction& instruction) {
  return std::all_of(
      instruction.operands.begin(), instruction.operands.end(),
      [](const Instruction* operand) { return operand->shape.IsScalar(); });
}

// Compilers rather compute it again for every reader than keep it.
bool IsCheap(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kAbs:
    case Opcode::kAdd:
    case Opcode::kAnd:
    case Opcode::kBroadcast:
    case Opcode::kClamp:
    case Opcode::kCompare:
    case Opcode::kConvert:
    case Opcode::kIota:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMultiply:
    case Opcode::kNegate:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kSelect:
    case Opcode::kSign:
    case Opcode::kSubtract:
      return true;
    default:
      return IsMadeOfScalars(instruction);
  }
}

// The leaf at a path into a tuple.
int32_t LeafNumberAt(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* at = &shape;
  int32_t leaf = 0;
  for (const int64_t element : path) {
    leaf += LeavesBefore(*at, element);
    at = &at->tuple_shapes[element];
  }
  return leaf;
}

// The arrays of one computation. A leaf is an array of an instruction's result;
// its buffer is the leaf that brought it into being.
class ComputationMemory {
 public:
  struct Callee {
    int64_t peak = 0;  // Beyond its parameters, results included.
    // By leaf of the root: the parameter leaf it passes on, or -1.
    std::vector<int32_t> passed;
    bool is_elementwise = false;  // Nothing in it needs memory of its own.
  };
  using Callees = absl::flat_hash_map<const Computation*, Callee>;

  ComputationMemory(const Computation& computation, const Callees& callees,
                    const LivenessOptions& options)
      : computation_(computation), callees_(callees), fuse_(options.fuse) {
    for (const auto& instruction : computation.instructions()) {
      const std::vector<Shape>& elements = instruction->shape.tuple_shapes;
      is_flat_.push_back(
          std::none_of(elements.begin(), elements.end(),
                       [](const Shape& element) { return element.IsTuple(); }));
      first_leaf_.push_back(std::ssize(end_));
      end_.resize(end_.size() + LeafCount(instruction->shape), -1);
    }
    first_leaf_.push_back(std::ssize(end_));
    virtual_.assign(computation.size(), false);
    if (fuse_) ChooseVirtual();
  }

  // Holds all parameters but these, by leaf, to the end.
  void KeepParameters(const std::vector<bool>& overwritable) {
    int32_t leaf = 0;
    for (const Instruction* parameter : computation_.Parameters()) {
      for (int32_t at = Begin(*parameter); at < End(*parameter); ++at) {
        const bool may = leaf < std::ssize(overwritable) && overwritable[leaf];
        if (!may) end_[at] = computation_.size();
        ++leaf;
      }
    }
  }

  // Fills in `callee` and, for an entry, `use`.
  void Run(bool is_entry, Callee& callee, MemoryUse* use) {
    FindEnds();
    FindBuffers();
    Sweep(is_entry, callee, use);
    const Instruction& root = *computation_.root();
    for (int32_t leaf = Begin(root); leaf < End(root); ++leaf) {
      const auto parameter = parameter_leaf_.find(buffer_[leaf]);
      callee.passed.push_back(
          parameter == parameter_leaf_.end() ? -1 : parameter->second);
    }
    callee.is_elementwise = fuse_ && !is_entry && AllFuse();
    if (callee.is_elementwise) callee.peak = 0;  // But for the result.
  }

 private:
  int32_t Begin(const Instruction& instruction) const {
    return static_cast<int32_t>(first_leaf_[instruction.id]);
  }
  int32_t End(const Instruction& instruction) const {
    return static_cast<int32_t>(first_leaf_[instruction.id + 1]);
  }

  // Computes each element from few of the operands', or calls what does.
  bool MayFuse(const Instruction& instruction) const {
    if (!instruction.shape.IsArray()) return false;
    switch (instruction.opcode) {
      case Opcode::kBroadcast:
      case Opcode::kIota:
        return true;
      case Opcode::kCall:
        return callees_.at(instruction.called[0]).is_elementwise;
      default:
        return IsElementwise(instruction.opcode);
    }
  }

  bool FusesOperands(const Instruction& instruction) const {
    return MayFuse(instruction) || instruction.opcode == Opcode::kReduce;
  }

  bool AllFuse() const {
    return std::all_of(computation_.instructions().begin(),
                       computation_.instructions().end(),
                       [&](const std::unique_ptr<Instruction>& instruction) {
                         switch (instruction->opcode) {
                           case Opcode::kParameter:
                           case Opcode::kReshape:
                             return instruction->shape.IsArray();
                           case Opcode::kConstant:
                             return instruction->shape.IsScalar();
                           default:
                             return MayFuse(*instruction);
                         }
                       });
  }

  void ChooseVirtual() {
    std::vector<int32_t> readers(computation_.size(), 0);
    std::vector<bool> fusible(computation_.size(), true);
    for (const auto& reader : computation_.instructions()) {
      for (const Instruction* operand : reader->operands) {
        ++readers[operand->id];
        if (!FusesOperands(*reader)) fusible[operand->id] = false;
      }
    }
    fusible[computation_.root()->id] = false;
    for (const auto& instruction : computation_.instructions()) {
      const int32_t id = instruction->id;
      virtual_[id] = fusible[id] && MayFuse(*instruction) &&
                     (readers[id] == 1 || IsCheap(*instruction));
    }
  }

  // Calls f(operand leaf, result leaf) for the arrays that a result passes on.
  template <typename F>
  void ForPassed(const Instruction& instruction, const F& f) const {
    if (instruction.opcode == Opcode::kGetTupleElement) {
      const Instruction& tuple = *instruction.operands[0];
      const int64_t index = instruction.attributes->tuple_index;
      const int32_t from =
          Begin(tuple) + (is_flat_[tuple.id]
                              ? static_cast<int32_t>(index)
                              : LeavesBefore(tuple.shape, index));
      for (int32_t i = 0; i < End(instruction) - Begin(instruction); ++i) {
        f(from + i, Begin(instruction) + i);
      }
    } else if (PassesOperands(instruction)) {
      int32_t to = Begin(instruction);
      for (const Instruction* operand : instruction.operands) {
        for (int32_t from = Begin(*operand); from < End(*operand); ++from) {
          if (to < End(instruction)) f(from, to++);
        }
      }
    } else if (instruction.opcode == Opcode::kCall) {
      std::vector<int32_t> arguments;
      for (const Instruction* operand : instruction.operands) {
        for (int32_t leaf = Begin(*operand); leaf < End(*operand); ++leaf) {
          arguments.push_back(leaf);
        }
      }
      const Callee& callee = callees_.at(instruction.called[0]);
      for (size_t i = 0; i < callee.passed.size(); ++i) {
        if (callee.passed[i] >= 0) {
          f(arguments[callee.passed[i]],
            Begin(instruction) + static_cast<int32_t>(i));
        }
      }
    }
  }

  // From the last instruction to the first: when each array is read last.
  void FindEnds() {
    const Instruction& root = *computation_.root();
    for (int32_t leaf = Begin(root); leaf < End(root); ++leaf) {
      end_[leaf] = computation_.size();
    }
    for (int32_t id = computation_.size(); id-- > 0;) {
      const Instruction& reader = *computation_.instruction(id);
      const bool is_element = reader.opcode == Opcode::kGetTupleElement;
      const bool reads =
          !is_element && (!PassesOperands(reader) || IsLoop(reader));
      if (reads) {
        const int32_t when = virtual_[id] ? end_[Begin(reader)] : id;
        for (const Instruction* operand : reader.operands) {
          for (int32_t leaf = Begin(*operand); leaf < End(*operand); ++leaf) {
            end_[leaf] = std::max(end_[leaf], when);
          }
        }
      }
      ForPassed(reader, [&](int32_t from, int32_t to) {
        end_[from] = std::max(end_[from], end_[to]);
      });
    }
  }

  void FindBuffers() {
    buffer_.resize(end_.size());
    for (int32_t leaf = 0; leaf < std::ssize(buffer_); ++leaf) {
      buffer_[leaf] = leaf;
    }
    for (const auto& instruction : computation_.instructions()) {
      ForPassed(*instruction,
                [&](int32_t from, int32_t to) { buffer_[to] = buffer_[from]; });
    }
    int32_t index = 0;
    for (const Instruction* parameter : computation_.Parameters()) {
      for (int32_t leaf = Begin(*parameter); leaf < End(*parameter); ++leaf) {
        parameter_leaf_[leaf] = index++;
      }
    }
  }

  // What the instruction's callees take beyond its operands and results.
  int64_t Extra(const Instruction& instruction) const {
    int64_t extra = 0;
    switch (instruction.opcode) {
      case Opcode::kWhile:
        for (const Computation* called : instruction.called) {
          extra = std::max(extra, callees_.at(called).peak);
        }
        return extra;
      case Opcode::kCall:
      case Opcode::kConditional:
        for (const Computation* called : instruction.called) {
          extra = std::max(extra, callees_.at(called).peak);
        }
        return std::max<int64_t>(0, extra - ByteSize(instruction.shape));
      default:
        return 0;
    }
  }

  // The array whose memory the result may take: read here for the last time.
  int32_t TakenOver(const Instruction& instruction, int64_t bytes) const {
    if (instruction.opcode == Opcode::kDynamicUpdateSlice ||
        instruction.opcode == Opcode::kScatter) {
      return MayTake(*instruction.operands[0], instruction.id, bytes);
    }
    int32_t visits = kMaxFused;
    return TakenByElements(instruction, instruction.id, bytes, visits);
  }

  int32_t MayTake(const Instruction& operand, int32_t position,
                  int64_t bytes) const {
    if (!operand.shape.IsArray()) return -1;
    const int32_t buffer = buffer_[Begin(operand)];
    const bool fits =
        end_[buffer] == position && !taken_[buffer] && size_[buffer] == bytes;
    return fits ? buffer : -1;
  }

  // Through operands that are fused into `instruction`.
  int32_t TakenByElements(const Instruction& instruction, int32_t position,
                          int64_t bytes, int32_t& visits) const {
    const bool is_elementwise =
        instruction.opcode != Opcode::kBroadcast && MayFuse(instruction);
    if (!is_elementwise || --visits < 0) return -1;
    for (const Instruction* operand : instruction.operands) {
      const int32_t buffer =
          virtual_[operand->id]
              ? TakenByElements(*operand, position, bytes, visits)
              : MayTake(*operand, position, bytes);
      if (buffer >= 0) return buffer;
    }
    return -1;
  }

  void Free(int32_t position, int64_t& live) {
    for (const int32_t buffer : ending_[position]) {
      if (!taken_[buffer]) live -= charge_[buffer];
    }
  }

  void Hold(int32_t leaf, int64_t charge, int64_t& live) {
    charge_[leaf] = charge;
    live = Plus(live, charge);
  }

  void Sweep(bool is_entry, Callee& callee, MemoryUse* use) {
    size_.assign(end_.size(), 0);
    charge_.assign(end_.size(), 0);
    taken_.assign(end_.size(), false);
    ending_.resize(computation_.size() + 1);
    int64_t live = 0;
    // Parameters are there from the start; those of callees are their
    // caller's.
    for (const Instruction* parameter : computation_.Parameters()) {
      HoldResults(*parameter, is_entry, live, use);
    }
    if (use != nullptr) use->parameter_bytes = live;
    callee.peak = live;
    for (const auto& instruction : computation_.instructions()) {
      if (instruction->opcode != Opcode::kParameter &&
          !virtual_[instruction->id]) {
        HoldResults(*instruction, /*charged=*/true, live, use);
      }
      const int64_t now = Plus(live, Extra(*instruction));
      if (now > callee.peak) {
        callee.peak = now;
        if (use != nullptr) use->peak_at = instruction->id;
      }
      Free(instruction->id, live);
    }
  }

  void HoldResults(const Instruction& instruction, bool charged, int64_t& live,
                   MemoryUse* use) {
    const std::vector<const Shape*> shapes = Leaves(instruction.shape);
    for (int32_t i = 0; i < std::ssize(shapes); ++i) {
      const int32_t leaf = Begin(instruction) + i;
      if (buffer_[leaf] != leaf) continue;
      const int64_t bytes = ByteSize(*shapes[i]);
      const int32_t from = TakenOver(instruction, bytes);
      size_[leaf] = bytes;
      if (from >= 0) {
        taken_[from] = true;
        charge_[leaf] = charge_[from];
      } else if (charged) {
        Hold(leaf, bytes, live);
      }
      const bool is_parameter = instruction.opcode == Opcode::kParameter;
      const int32_t begin = is_parameter ? 0 : instruction.id;
      // What nobody reads is gone at once.
      const int32_t end = std::max(end_[leaf], instruction.id);
      ending_[end].push_back(leaf);
      if (use != nullptr) {
        use->ranges.push_back({&instruction, i, bytes, begin, end, from >= 0});
      }
    }
  }

  const Computation& computation_;
  const Callees& callees_;
  const bool fuse_;
  std::vector<int64_t> first_leaf_;  // By instruction.
  std::vector<bool> is_flat_;        // By instruction: no tuples in its tuple.
  std::vector<bool> virtual_;        // By instruction: fused, never made.
  std::vector<int32_t> end_;         // By leaf, as the following.
  std::vector<int32_t> buffer_;
  std::vector<int64_t> size_;
  std::vector<int64_t> charge_;  // What it adds to the memory in use.
  std::vector<bool> taken_;      // Another took it over.
  std::vector<std::vector<int32_t>> ending_;  // By position.
  absl::flat_hash_map<int32_t, int32_t> parameter_leaf_;
};

// By leaf of all entry parameters.
std::vector<bool> Overwritable(const Module& module) {
  std::vector<int32_t> first;
  int32_t leaves = 0;
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  for (const Instruction* parameter : parameters) {
    first.push_back(leaves);
    leaves += LeafCount(parameter->shape);
  }
  std::vector<bool> result(leaves, false);
  const auto mark = [&](int64_t number, const std::vector<int64_t>& path) {
    result[first[number] + LeafNumberAt(parameters[number]->shape, path)] =
        true;
  };
  for (const Alias& alias : module.aliases) {
    mark(alias.parameter_number, alias.parameter_index);
  }
  for (const BufferDonor& donor : module.buffer_donors) {
    mark(donor.parameter_number, donor.parameter_index);
  }
  return result;
}

}  // namespace

MemoryUse AnalyzeMemory(const Module& module, const LivenessOptions& options) {
  MemoryUse use;
  ComputationMemory::Callees callees;
  absl::flat_hash_set<const Computation*> loop_parts;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!IsLoop(*instruction)) continue;
      loop_parts.insert(instruction->called.begin(), instruction->called.end());
    }
  }
  // Callees come before their callers.
  for (const auto& computation : module.computations()) {
    const bool is_entry = computation.get() == module.entry();
    ComputationMemory memory(*computation, callees, options);
    // A loop works in place; a call must leave what its caller may still read.
    if (is_entry) {
      memory.KeepParameters(Overwritable(module));
    } else if (!loop_parts.contains(computation.get())) {
      memory.KeepParameters({});
    }
    ComputationMemory::Callee callee;
    memory.Run(is_entry, callee, is_entry ? &use : nullptr);
    if (is_entry) use.peak_bytes = callee.peak;
    callees[computation.get()] = std::move(callee);
  }
  use.output_bytes = ByteSize(module.entry()->root()->shape);
  std::stable_sort(
      use.ranges.begin(), use.ranges.end(),
      [](const LiveRange& a, const LiveRange& b) { return a.begin < b.begin; });
  return use;
}

}  // namespace meshwright
