#include "meshwright/analysis/segments.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/analysis/demand.h"
#include "meshwright/analysis/fingerprint.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/repeats.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"

namespace meshwright {
namespace {

// A call is one item if its sequence, or all sequences together, would have
// more items than these.
constexpr int64_t kMaxItems = int64_t{1} << 16;
constexpr int64_t kMaxInlinedItems = int64_t{1} << 20;

// A contraction or loop, with all instructions since the previous one.
struct Item {
  uint64_t fingerprint = 0;
  const Instruction* instruction = nullptr;
  int64_t contractions = 0;
  int64_t instructions = 0;
  Work work;
  // Parameters of the entry that it reads.
  std::vector<const Instruction*> parameters;
};

// A computation as a sequence of items; `rest` is what follows the last item.
struct Sequence {
  std::vector<Item> items;
  int64_t contractions = 0;
  int64_t rest_instructions = 0;
  Work rest_work;
  std::vector<const Instruction*> rest_parameters;
  int64_t instructions = 0;  // All instructions, with calls inlined.
  // The longest chain of instructions, with calls inlined.
  int64_t height = 0;
};

class Sequencer {
 public:
  Sequencer(const Module& module, const ModuleWork& work)
      : work_(work), entry_(module.entry()) {
    // Callees come before their callers.
    for (const auto& computation : module.computations()) {
      sequences_[computation.get()] = Make(*computation);
    }
  }

  const Sequence& Of(const Computation& computation) const {
    return *sequences_.at(&computation);
  }

 private:
  struct Placed {
    int64_t depth = 0;
    uint64_t fingerprint = 0;
    const Instruction* instruction = nullptr;
  };

  bool IsInlined(const Instruction& instruction) const {
    return (instruction.opcode == Opcode::kCall ||
            instruction.opcode == Opcode::kFusion) &&
           instruction.called.size() == 1;
  }

  int64_t Height(const Instruction& instruction) const {
    if (!IsInlined(instruction)) return 1;
    return std::min(Of(*instruction.called[0]).height + 1, kMaxItems);
  }

  // 0 for an instruction that neither is nor contains a contraction.
  uint64_t FingerprintAt(const Instruction& instruction) const {
    if (IsContraction(instruction.opcode))
      return ContractionFingerprint(instruction);
    if (ContractionsOf(instruction) == 0) return 0;
    Fingerprint fingerprint;
    fingerprint.Add(static_cast<uint64_t>(instruction.opcode));
    for (const Computation* called : instruction.called) {
      for (const Item& item : Of(*called).items) {
        fingerprint.Add(item.fingerprint);
      }
    }
    if (instruction.opcode == Opcode::kWhile) {
      fingerprint.Add(TripCount(instruction).value_or(-1));
    }
    return fingerprint.value();
  }

  // Contractions in one execution of what an instruction calls.
  int64_t ContractionsOf(const Instruction& instruction) const {
    if (IsContraction(instruction.opcode)) return 1;
    int64_t count = 0;
    if (!FollowsCalls(instruction)) return count;
    for (const Computation* called : instruction.called) {
      count = std::min(count + Of(*called).contractions, kMaxItems);
    }
    return count;
  }

  int64_t InstructionsOf(const Instruction& instruction) const {
    int64_t count = 1;
    if (!FollowsCalls(instruction)) return count;
    for (const Computation* called : instruction.called) {
      count = std::min(count + Of(*called).instructions, int64_t{1} << 50);
    }
    return count;
  }

  bool FollowsCalls(const Instruction& instruction) const {
    return IsInlined(instruction) || instruction.opcode == Opcode::kWhile ||
           instruction.opcode == Opcode::kConditional;
  }

  // Orders instructions by depth, so that the order does not depend on how the
  // module was written; equal depths by fingerprint, so that copies of a block
  // have the same order.
  std::vector<Placed> Place(const Computation& computation,
                            int64_t& height) const {
    std::vector<int64_t> depth(computation.size());
    std::vector<Placed> placed;
    for (const auto& instruction : computation.instructions()) {
      int64_t start = 0;
      for (const Instruction* operand : instruction->operands) {
        start = std::max(start, depth[operand->id]);
      }
      depth[instruction->id] = start + Height(*instruction);
      height = std::max(height, depth[instruction->id]);
      placed.push_back({start, FingerprintAt(*instruction), instruction.get()});
    }
    std::sort(placed.begin(), placed.end(),
              [](const Placed& a, const Placed& b) {
                return std::tuple(a.depth, a.fingerprint, a.instruction->id) <
                       std::tuple(b.depth, b.fingerprint, b.instruction->id);
              });
    return placed;
  }

  bool MayInline(const Instruction& instruction, const Sequence& sequence) {
    if (!IsInlined(instruction)) return false;
    const int64_t items = std::ssize(Of(*instruction.called[0]).items);
    inlined_ += items;
    return items + std::ssize(sequence.items) < kMaxItems &&
           inlined_ < kMaxInlinedItems;
  }

  std::unique_ptr<Sequence> Make(const Computation& computation) {
    auto sequence = std::make_unique<Sequence>();
    for (const Placed& at : Place(computation, sequence->height)) {
      const Instruction& instruction = *at.instruction;
      const int64_t contractions = ContractionsOf(instruction);
      if (&computation == entry_) AddParameters(instruction, *sequence);
      if (MayInline(instruction, *sequence)) {
        Inline(Of(*instruction.called[0]), *sequence);
      } else {
        sequence->rest_instructions += InstructionsOf(instruction);
        sequence->rest_work += work_.Of(instruction);
        if (contractions > 0) {
          Close({.fingerprint = at.fingerprint,
                 .instruction = &instruction,
                 .contractions = contractions},
                *sequence);
        }
      }
      sequence->contractions += contractions;
      sequence->instructions += InstructionsOf(instruction);
    }
    return sequence;
  }

  // Ends the current run of instructions with this item.
  static void Close(Item item, Sequence& sequence) {
    item.instructions += std::exchange(sequence.rest_instructions, 0);
    item.work += std::exchange(sequence.rest_work, Work());
    const auto parameters = std::exchange(sequence.rest_parameters, {});
    item.parameters.insert(item.parameters.end(), parameters.begin(),
                           parameters.end());
    sequence.items.push_back(std::move(item));
  }

  static void Inline(const Sequence& callee, Sequence& sequence) {
    ++sequence.rest_instructions;
    for (const Item& item : callee.items) Close(item, sequence);
    sequence.rest_instructions += callee.rest_instructions;
    sequence.rest_work += callee.rest_work;
  }

  static void AddParameters(const Instruction& instruction,
                            Sequence& sequence) {
    // A mere rearrangement of a parameter counts where its result is read.
    if (&Source(instruction) != &instruction) return;
    for (const Instruction* operand : instruction.operands) {
      const Instruction& source = Source(*operand);
      if (source.opcode == Opcode::kParameter) {
        sequence.rest_parameters.push_back(&source);
      }
    }
  }

  const ModuleWork& work_;
  const Computation* entry_;
  int64_t inlined_ = 0;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Sequence>> sequences_;
};

// The second copy represents all of them: the first also contains what precedes
// the repeat.
Segment SegmentOf(const Repeat& repeat, const std::vector<Item>& items) {
  Segment segment{.label = items[repeat.begin].instruction->name,
                  .count = repeat.count};
  absl::flat_hash_set<const Instruction*> parameters;
  for (int64_t i = 0; i < repeat.period; ++i) {
    const Item& item = items[repeat.begin + repeat.period + i];
    segment.contractions += item.contractions;
    segment.instructions += item.instructions;
    segment.flops += item.work.flops;
    segment.bytes += item.work.bytes;
    for (const Instruction* parameter : item.parameters) {
      if (!parameters.insert(parameter).second) continue;
      ++segment.parameters;
      segment.parameter_bytes +=
          static_cast<double>(ByteSize(parameter->shape));
    }
  }
  return segment;
}

// Adds the parameters among the initial values of a loop.
void AddLoopParameters(const Instruction& loop, Segment& segment) {
  absl::flat_hash_set<const Instruction*> seen;
  const Instruction& start = *loop.operands[0];
  if (start.opcode != Opcode::kTuple) return;
  for (const Instruction* element : start.operands) {
    const Instruction& source = Source(*element);
    if (source.opcode != Opcode::kParameter || !seen.insert(&source).second) {
      continue;
    }
    const Shape& shape = source.shape;
    const bool is_stack =
        !shape.dimensions.empty() && shape.dimensions[0] == segment.count;
    ++segment.parameters;
    segment.parameter_bytes +=
        static_cast<double>(ByteSize(shape)) /
        static_cast<double>(is_stack ? segment.count : 1);
  }
}

std::optional<Segment> LoopSegment(const Item& item, const Sequencer& sequencer,
                                   const ModuleWork& work) {
  const Instruction& loop = *item.instruction;
  if (loop.opcode != Opcode::kWhile) return std::nullopt;
  const std::optional<int64_t> count = TripCount(loop);
  if (!count || *count < 2) return std::nullopt;
  Segment segment{.label = loop.name, .count = *count};
  for (const Computation* called : loop.called) {
    segment.contractions += sequencer.Of(*called).contractions;
    segment.instructions += sequencer.Of(*called).instructions;
    segment.flops += work.Of(*called).flops;
    segment.bytes += work.Of(*called).bytes;
  }
  AddLoopParameters(loop, segment);
  return segment;
}

}  // namespace

uint64_t ContractionFingerprint(const Instruction& contraction) {
  Fingerprint fingerprint;
  fingerprint.Add(static_cast<uint64_t>(contraction.opcode));
  fingerprint.Add(contraction.shape);
  for (const Instruction* operand : contraction.operands) {
    fingerprint.Add(operand->shape);
  }
  if (const auto& dot = contraction.attributes->dot) {
    fingerprint.Add(dot->lhs_contracting).Add(dot->rhs_contracting);
    fingerprint.Add(dot->lhs_batch).Add(dot->rhs_batch);
  }
  if (const auto& conv = contraction.attributes->convolution) {
    fingerprint.Add(conv->input_batch).Add(conv->input_feature);
    fingerprint.Add(conv->kernel_input_feature);
    fingerprint.Add(conv->kernel_output_feature);
    fingerprint.Add(conv->output_batch).Add(conv->output_feature);
    fingerprint.Add(conv->input_spatial).Add(conv->kernel_spatial);
    fingerprint.Add(conv->output_spatial);
    fingerprint.Add(contraction.attributes->feature_group_count);
    fingerprint.Add(contraction.attributes->batch_group_count);
  }
  if (const auto& window = contraction.attributes->window) {
    for (const WindowDimension& d : window->dimensions) {
      fingerprint.Add(std::vector<int64_t>{d.size, d.stride, d.padding_low,
                                           d.padding_high, d.window_dilation,
                                           d.base_dilation, d.window_reversal});
    }
  }
  return fingerprint.value();
}

std::vector<Segment> FindSegments(const Module& module,
                                  const ModuleWork& work) {
  const Sequencer sequencer(module, work);
  const std::vector<Item>& items = sequencer.Of(*module.entry()).items;
  std::vector<uint64_t> fingerprints;
  for (const Item& item : items) fingerprints.push_back(item.fingerprint);
  const std::vector<Repeat> repeats = FindRepeats(fingerprints);

  std::vector<Segment> segments;
  auto repeat = repeats.begin();
  for (int64_t i = 0; i < std::ssize(items);) {
    if (repeat != repeats.end() && repeat->begin == i) {
      segments.push_back(SegmentOf(*repeat, items));
      i = repeat->end();
      ++repeat;
      continue;
    }
    if (std::optional<Segment> loop = LoopSegment(items[i], sequencer, work)) {
      segments.push_back(*std::move(loop));
    }
    ++i;
  }
  return segments;
}

}  // namespace meshwright
