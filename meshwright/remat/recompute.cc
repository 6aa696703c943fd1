#include "meshwright/remat/recompute.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/remat/forward_segments.h"
#include "meshwright/remat/recompute_loops.h"
#include "meshwright/remat/rematerializable.h"

namespace meshwright {
namespace {

class Recomputer {
 public:
  Recomputer(Module& module, const ForwardSegments& segments, bool light)
      : entry_(*module.entry()),
        segments_(segments),
        light_(light),
        work_(module),
        size_(entry_.size()),
        last_(segments.count - 1),
        names_(module) {}

  // Returns how many instructions are rematerialised.
  int64_t Run() && {
    FindKept();
    FindTies();
    FindNeeded();
    Instruction* const root = entry_.root();
    const int64_t count = Copy(root);
    entry_.set_root(root);
    if (count > 0) PutInOrder();
    return count;
  }

 private:
  int32_t SegmentOf(const Instruction& instruction) const {
    return segments_.segment_of[instruction.id];
  }
  bool IsForward(const Instruction& instruction) const {
    return segments_.IsForward(instruction);
  }

  // What is kept from the forward pass for the backward pass: what passes from
  // one segment to another, and what must not run twice.
  void FindKept() {
    kept_.assign(size_, false);
    for (int32_t id = 0; id < size_; ++id) {
      const Instruction& value = *entry_.instruction(id);
      if (!IsForward(value)) continue;
      const bool is_element = value.opcode == Opcode::kGetTupleElement;
      const Instruction& maker = is_element ? *value.operands[0] : value;
      kept_[id] = SegmentOf(value) < 0 || SegmentOf(value) == last_ ||
                  !IsRematerializable(maker) || !IsRematerializable(value) ||
                  (light_ && IsExpensiveToRematerialize(value, work_));
      // No other segment can copy it.
      for (const Instruction* operand : value.operands) {
        if (operand->shape.IsArray() &&
            SegmentOf(*operand) != SegmentOf(value)) {
          kept_[operand->id] = true;
        }
      }
    }
  }

  bool IsInner(const Instruction& value) const {
    return IsForward(value) && !kept_[value.id];
  }

  // For each segment, a value of the backward pass that is computed before
  // anything of this segment is needed there, but after the segments that
  // follow it.
  void FindTies() {
    const int32_t none = last_ + 1;
    first_.assign(size_, none);
    ties_.assign(segments_.count, nullptr);
    for (int32_t id = 0; id < size_; ++id) {
      const Instruction& user = *entry_.instruction(id);
      if (IsForward(user)) continue;
      int32_t& first = first_[id];
      for (const Instruction* operand : user.operands) {
        if (!IsForward(*operand)) {
          first = std::min(first, first_[operand->id]);
        } else if (IsInner(*operand) || SegmentOf(*operand) == last_) {
          first = std::min(first, SegmentOf(*operand));
        }
      }
      if (first >= last_ || &user == entry_.root()) continue;
      Instruction*& tie = ties_[first];
      for (Instruction* operand : user.operands) {
        const int32_t before = first_[operand->id];
        if (IsForward(*operand) || !operand->shape.IsArray() ||
            before <= first || before == none) {
          continue;
        }
        if (tie == nullptr || std::make_pair(before, operand->id) <
                                  std::make_pair(first_[tie->id], tie->id)) {
          tie = operand;
        }
      }
    }
  }

  void FindNeeded() {
    needed_.assign(size_, false);
    for (int32_t id = size_; id-- > 0;) {
      const Instruction& user = *entry_.instruction(id);
      if (&user == entry_.root() || (IsForward(user) && !needed_[id])) continue;
      for (const Instruction* operand : user.operands) {
        needed_[operand->id] = needed_[operand->id] || ReadsCopy(*operand);
      }
    }
  }

  // Whether the backward pass reads a copy of this value.
  bool ReadsCopy(const Instruction& value) const {
    return IsInner(value) && ties_[SegmentOf(value)] != nullptr;
  }

  // Outputs stay what they are.
  int64_t Copy(const Instruction* root) {
    copies_.assign(size_, nullptr);
    int64_t count = 0;
    for (int32_t id = 0; id < size_; ++id) {
      if (!needed_[id]) continue;
      CopyOne(*entry_.instruction(id));
      ++count;
    }
    for (int32_t id = 0; id < size_; ++id) {
      Instruction& user = *entry_.instruction(id);
      if (IsForward(user) || &user == root) continue;
      for (Instruction*& operand : user.operands) {
        if (copies_[operand->id] != nullptr) operand = copies_[operand->id];
      }
    }
    return count;
  }

  void CopyOne(const Instruction& value) {
    const int32_t segment = SegmentOf(value);
    // Something must delay it.
    const bool is_held =
        std::any_of(value.operands.begin(), value.operands.end(),
                    [&](const Instruction* operand) {
                      return SegmentOf(*operand) != kOfWeights;
                    });
    std::vector<Instruction*> operands;
    for (Instruction* operand : value.operands) {
      const bool as_it_is = !operand->shape.IsArray() ||
                            (SegmentOf(*operand) == kOfWeights &&
                             (is_held || operand->opcode == Opcode::kConstant));
      if (copies_[operand->id] != nullptr) {
        operands.push_back(copies_[operand->id]);
      } else {
        operands.push_back(as_it_is ? operand : Behind(*operand, segment));
      }
    }
    copies_[value.id] = AddCopy(entry_, value, std::move(operands), names_);
  }

  // `value` behind a barrier that waits for the segment's tie.
  Instruction* Behind(Instruction& value, int32_t segment) {
    Instruction*& known = behind_[{value.id, segment}];
    if (known != nullptr) return known;
    Instruction* const tie = ties_[segment];
    const Shape shape = Shape::Tuple({value.shape, tie->shape});
    const auto add = [&](Opcode opcode, const Shape& of,
                         std::vector<Instruction*> operands) {
      Instruction* made = entry_.Add(opcode, of, std::move(operands),
                                     names_.NewName(value.name));
      made->metadata = value.metadata;
      return made;
    };
    Instruction* const both = add(Opcode::kTuple, shape, {&value, tie});
    Instruction* const barrier = add(Opcode::kOptBarrier, shape, {both});
    known = add(Opcode::kGetTupleElement, value.shape, {barrier});
    known->attributes.mutate().tuple_index = 0;
    return known;
  }

  // When an instruction should run: forward pass first, then the backward pass
  // by segment from the last to the first, so that nothing of a segment lives
  // longer than its turn; otherwise in the original order.
  struct Turn {
    int32_t stage = 0;  // 0 is the forward pass.
    int32_t before = 0;
    auto operator<=>(const Turn&) const = default;
  };

  // Copies, and what does not depend on the forward pass, just before their
  // first user.
  std::vector<Turn> Turns() const {
    const auto users = Users(entry_);
    std::vector<Turn> turns(entry_.size());
    for (int32_t id = entry_.size(); id-- > 0;) {
      const bool is_new = id >= size_;
      if (!is_new && IsForward(*entry_.instruction(id))) {
        turns[id] = {0, id};
      } else if (!is_new && first_[id] <= last_) {
        turns[id] = {1 + last_ - first_[id], id};
      } else {
        turns[id] = {segments_.count + 1, id};
        for (const Instruction* user : users[id]) {
          turns[id] = std::min(turns[id], turns[user->id]);
        }
      }
    }
    return turns;
  }

  void PutInOrder() {
    const int32_t all = entry_.size();
    const std::vector<Turn> turns = Turns();
    std::vector<std::vector<int32_t>> next(all);
    std::vector<int32_t> missing(all, 0);
    for (const auto& instruction : entry_.instructions()) {
      const auto wait_for = [&](const Instruction* before) {
        next[before->id].push_back(instruction->id);
        ++missing[instruction->id];
      };
      for (const Instruction* operand : instruction->operands) {
        wait_for(operand);
      }
      for (const Instruction* before : instruction->control_predecessors) {
        wait_for(before);
      }
    }
    using Entry = std::pair<Turn, int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (int32_t id = 0; id < all; ++id) {
      if (missing[id] == 0) ready.push({turns[id], id});
    }
    std::vector<Instruction*> order;
    while (!ready.empty()) {
      const int32_t id = ready.top().second;
      ready.pop();
      order.push_back(entry_.instruction(id));
      for (const int32_t after : next[id]) {
        if (--missing[after] == 0) ready.push({turns[after], after});
      }
    }
    MW_CHECK(std::ssize(order) == all) << "recomputation goes in circles";
    entry_.Keep(order);
  }

  Computation& entry_;
  const ForwardSegments& segments_;
  const bool light_;
  const ModuleWork work_;
  const int32_t size_;  // Instructions there were.
  const int32_t last_;  // The segment that is not rematerialised.
  RematNames names_;
  std::vector<bool> kept_;  // By instruction id, as the following.
  // For the backward pass: the first segment of which it needs something; the
  // last plus one if there is none.
  std::vector<int32_t> first_;
  std::vector<bool> needed_;          // Of inner ones: a copy.
  std::vector<Instruction*> copies_;  // Or null.
  std::vector<Instruction*> ties_;    // By segment; null: it stays as it is.
  std::map<std::pair<int32_t, int32_t>, Instruction*> behind_;
};

}  // namespace

absl::string_view Name(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNone:
      return "none";
    case Recompute::kSelective:
      return "selective";
    case Recompute::kFull:
      return "full";
  }
  return "none";
}

absl::StatusOr<Recompute> ParseRecompute(absl::string_view name) {
  for (const Recompute one :
       {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    if (Name(one) == name) return one;
  }
  if (name == "light") return Recompute::kSelective;  // Its former name.
  return absl::InvalidArgumentError(
      absl::StrCat("--recompute is none, selective or full, not '", name, "'"));
}

absl::StatusOr<Module> RecomputeForward(const Module& module,
                                        Recompute recompute) {
  const bool light = recompute == Recompute::kSelective;
  Module result = InlineCalls(module);
  int64_t count = RecomputeLoops(result, light).count;
  result.Finish();
  const ForwardSegments segments = SegmentForward(result, AnalyzeRoles(result));
  if (segments.count > 1) count += Recomputer(result, segments, light).Run();
  if (count == 0) {
    return absl::FailedPreconditionError(
        "there is nothing to recompute in the step's forward pass");
  }
  MW_RETURN_IF_ERROR(
      Annotate(Verify(result), "internal error: the recomputing step"));
  return result;
}

}  // namespace meshwright
