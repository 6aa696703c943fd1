#include "meshwright/microbatch/time_phases.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/op_name.h"
#include "meshwright/rules/rule.h"
#include "meshwright/rules/suggest_rule.h"

namespace meshwright {
namespace {

constexpr OpId kNone{-1};

// An operand that an op takes completed.
struct Use {
  OpId op;
  size_t operand = 0;
};

absl::string_view NameOf(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kProduct:
      return "product";
    case Reduction::kMax:
      return "maximum";
    case Reduction::kMin:
      return "minimum";
    case Reduction::kAnd:
    case Reduction::kOr:
      return "verdict";
  }
  return "value";
}

class Phases {
 public:
  Phases(const FlatGraph& graph, const TimeSplit& split, bool allow_inexact,
         bool one_phase)
      : graph_(graph),
        split_(split),
        allow_inexact_(allow_inexact),
        one_phase_(one_phase),
        nested_(NestedOps(graph)),
        levels_(graph.values.size()),
        heavy_(graph.values.size()),
        stacked_(graph.values.size(), kNone) {
    for (const Loop& loop : graph.loops) {
      for (const OpId carry : loop.carries) control_[carry] = loop.go_on;
    }
    for (const Branch& branch : graph.branches) {
      for (const OpId merge : branch.merges) control_[merge] = branch.selector;
    }
  }

  absl::StatusOr<std::vector<TimeProgram>> Run() {
    FindLevels();
    CheckStacked();
    TimeProgram apply = Collect(graph_.outputs, /*in_batch=*/false);
    if (apply.given.empty()) {
      return absl::InvalidArgumentError(
          "no output depends on the parameters that are split");
    }
    int32_t last = 0;
    for (const ValueId value : apply.given) {
      last = std::max(last, levels_[value]);
    }
    if (one_phase_) last = 0;
    absl::flat_hash_map<ValueId, int32_t> phase_of;
    for (const ValueId value : apply.given) phase_of[value] = last;
    std::vector<TimeProgram> programs(last + 1);
    for (int32_t phase = last; phase >= 0; --phase) {
      programs[phase] = CollectPhase(phase, phase_of);
    }
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    programs.push_back(std::move(apply));
    return programs;
  }

 private:
  bool IsNested(const Use& use) const {
    const bool comes_back =
        graph_.ops[use.op].kind == OpKind::kCarry && use.operand == 1;
    return nested_[use.op] || comes_back;
  }
  ValueId ValueOf(const Use& use) const {
    return graph_.ops[use.op].operands[use.operand];
  }

  // Whether the remaining sum is estimated within the micro-batch.
  bool IsEstimated(const Use& use) const {
    const ValueId value = ValueOf(use);
    const Sharding& state = split_.states[value];
    return allow_inexact_ && (heavy_[value] || IsNested(use)) &&
           SplitAxes(state).empty() && state.reduction != Reduction::kProduct;
  }

  // Floating-point or complex.
  bool IsNumber(ValueId value) const {
    const ElementType type = graph_.values[value].shape->element_type;
    return IsFloating(type) || IsComplex(type);
  }

  // Whether a factor is contracted that two arrays of numbers share.
  bool Contracts(OpId id) const {
    const Rule& rule = split_.assignment.rules[id];
    for (int32_t factor = 0; factor < static_cast<int32_t>(rule.factors.size());
         ++factor) {
      if (rule.factors[factor].kind != FactorKind::kReduced) continue;
      int count = 0;
      for (size_t i = 0; i < rule.operands.size(); ++i) {
        if (!IsNumber(graph_.ops[id].operands[i])) continue;
        for (const DimFactors& dim : rule.operands[i]) {
          count += static_cast<int>(std::count(dim.begin(), dim.end(), factor));
        }
      }
      if (count > 1) return true;
    }
    return false;
  }

  // The first phase in which each value can be available, and whether computing
  // it takes contractions of the batch.
  void FindLevels() {
    for (size_t pass = 0; pass < graph_.loops.size() + 2; ++pass) {
      const std::vector<int32_t> before = levels_;
      const std::vector<bool> heavy_before = heavy_;
      for (OpId id{0}; id < static_cast<OpId>(graph_.ops.size()); ++id) {
        if (graph_.ops[id].live) FindLevel(id);
      }
      if (levels_ == before && heavy_ == heavy_before) return;
    }
  }

  void FindLevel(OpId id) {
    const FlatOp& op = graph_.ops[id];
    int32_t level = 0;
    bool heavy = false;
    bool varies = false;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId value = op.operands[i];
      level = std::max(level, levels_[value]);
      if (split_.Completes(graph_, id, i)) {
        if (IsEstimated({id, i})) {
          heavy = true;
        } else {
          level = std::max(level, levels_[value] + 1);
        }
      } else {
        varies = varies || !split_.IsInvariant(value);
        heavy = heavy || heavy_[value];
      }
    }
    if (const auto control = control_.find(id); control != control_.end()) {
      level =
          std::max(level, levels_[control->second] +
                              (split_.IsInvariant(control->second) ? 0 : 1));
      heavy = heavy || heavy_[control->second];
    }
    heavy = heavy || (varies && Contracts(id));
    for (int32_t i = 0; i < op.result_count; ++i) {
      levels_[op.first_result + i] = level;
      heavy_[op.first_result + i] = heavy;
    }
  }

  // Contractions of a stacked batch would defeat the purpose of micro-batches.
  // Stacked integers, such as the lengths of packed sequences, are not
  // contracted.
  void CheckStacked() {
    for (OpId id{0}; id < static_cast<OpId>(graph_.ops.size()); ++id) {
      const FlatOp& op = graph_.ops[id];
      if (!op.live) continue;
      OpId origin = kNone;
      OpId contracted = kNone;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId value = op.operands[i];
        OpId found = kNone;
        if (split_.Completes(graph_, id, i) &&
            !SplitAxes(split_.states[value]).empty()) {
          found = id;
        } else if (split_.IsInvariant(value)) {
          found = stacked_[value];
        }
        origin = std::max(origin, found);
        if (IsNumber(value)) contracted = std::max(contracted, found);
      }
      for (int32_t i = 0; i < op.result_count; ++i) {
        stacked_[op.first_result + i] = origin;
      }
      if (contracted == kNone || !Contracts(id)) continue;
      Refuse(contracted,
             absl::StrCat(DescribeOp(graph_.ops[contracted]), ": ",
                          WhyNotSplit(contracted), ", and ",
                          contracted == id ? "is a contraction"
                                           : "contractions depend on it"));
    }
  }

  // What is needed to compute `roots`. `in_batch`: within a micro-batch.
  TimeProgram Collect(const std::vector<OpId>& roots, bool in_batch) {
    TimeProgram program;
    program.live.resize(graph_.ops.size());
    std::set<ValueId> given;
    std::vector<OpId> work;
    const auto mark = [&](OpId id) {
      if (program.live[id]) return;
      program.live[id] = true;
      work.push_back(id);
    };
    for (const OpId root : roots) mark(root);
    while (!work.empty()) {
      const OpId id = work.back();
      work.pop_back();
      const FlatOp& op = graph_.ops[id];
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const bool completes = split_.Completes(graph_, id, i);
        if (!completes || (in_batch && IsEstimated({id, i}))) {
          mark(graph_.values[op.operands[i]].producer);
        } else {
          given.insert(op.operands[i]);
          CheckUse({id, i}, in_batch);
        }
      }
      const auto control = control_.find(id);
      if (control == control_.end()) continue;
      if (split_.IsInvariant(control->second)) {
        mark(graph_.values[control->second].producer);
        continue;
      }
      given.insert(control->second);
      if (op.kind == OpKind::kCarry || op.region != 0) {
        Refuse(id, absl::StrCat(DescribeOp(op),
                                ": how it goes on depends on the micro-batch"));
      }
    }
    program.given.assign(given.begin(), given.end());
    return program;
  }

  // What is needed within the phase itself is completed by the previous one.
  TimeProgram CollectPhase(int32_t phase,
                           absl::flat_hash_map<ValueId, int32_t>& phase_of) {
    while (true) {
      std::vector<ValueId> accumulated;
      std::vector<OpId> roots;
      for (const auto& [value, of] : phase_of) {
        if (of == phase) accumulated.push_back(value);
      }
      std::sort(accumulated.begin(), accumulated.end());
      for (const ValueId value : accumulated) {
        roots.push_back(graph_.values[value].producer);
      }
      TimeProgram program = Collect(roots, /*in_batch=*/true);
      if (one_phase_) {
        program.accumulated = std::move(accumulated);
        if (program.given.empty()) return program;
        CheckBefore(program.given);
        program.whole = WithAllBefore(program.given);
        return program;
      }
      bool moved = false;
      for (const ValueId value : program.given) {
        const auto [entry, is_new] = phase_of.try_emplace(value, phase - 1);
        if (entry->second < phase) continue;
        entry->second = phase - 1;
        moved = true;
      }
      if (moved) continue;
      program.accumulated = std::move(accumulated);
      return program;
    }
  }

  // Refuses what earlier phases cannot compute either.
  void CheckBefore(std::vector<ValueId> values) {
    std::set<ValueId> seen;
    while (!values.empty()) {
      const ValueId value = values.back();
      values.pop_back();
      if (!seen.insert(value).second) continue;
      const TimeProgram before =
          Collect({graph_.values[value].producer}, /*in_batch=*/true);
      values.insert(values.end(), before.given.begin(), before.given.end());
    }
  }

  // By op: computes `values`, or something they depend on.
  std::vector<bool> WithAllBefore(const std::vector<ValueId>& values) const {
    std::vector<bool> before(graph_.ops.size());
    std::vector<ValueId> work = values;
    while (!work.empty()) {
      const OpId id = graph_.values[work.back()].producer;
      work.pop_back();
      if (before[id]) continue;
      before[id] = true;
      const FlatOp& op = graph_.ops[id];
      work.insert(work.end(), op.operands.begin(), op.operands.end());
      const auto control = control_.find(id);
      if (control != control_.end()) work.push_back(control->second);
    }
    return before;
  }

  void CheckUse(const Use& use, bool in_batch) {
    const ValueId value = ValueOf(use);
    const bool nested = IsNested(use);
    if (!nested && !(in_batch && heavy_[value])) return;
    const Sharding& state = split_.states[value];
    const FlatOp& user = graph_.ops[use.op];
    const absl::string_view where =
        nested ? "inside a loop or branch" : "within them";
    const absl::string_view why =
        nested ? "" : "; to know it first takes a second pass over the batch";
    if (!SplitAxes(state).empty()) {
      Refuse(use.op, absl::StrCat(DescribeOp(user), ": ", WhyNotSplit(use.op),
                                  ", and its result is needed ", where, why));
      return;
    }
    const OpId origin = OriginOf(value);
    if (Picks(origin)) {
      Refuse(origin, absl::StrCat(DescribeOp(graph_.ops[origin]),
                                  ": picks examples from the whole batch ",
                                  where, ", for ", DescribeOp(user), why));
      return;
    }
    Refuse(origin, absl::StrCat(DescribeOp(graph_.ops[origin]), ": its ",
                                NameOf(state.reduction),
                                " over all micro-batches is needed ", where,
                                ", by ", DescribeOp(user), why));
  }

  // Whether it selects parts of a split value by index.
  bool Picks(OpId id) const {
    const FlatOp& op = graph_.ops[id];
    if (op.kind != OpKind::kCompute) return false;
    const Opcode opcode = op.instruction->opcode;
    return (opcode == Opcode::kDynamicSlice || opcode == Opcode::kGather) &&
           !SplitAxes(split_.states[op.operands[0]]).empty();
  }

  std::string WhyNotSplit(OpId id) const {
    for (const ValueId value : graph_.ops[id].operands) {
      for (const DimSharding& dim : split_.states[value].dims) {
        if (IsStrided(dim))
          return "has the batch as the minor part of a dimension";
      }
    }
    const Instruction& instruction = *graph_.ops[id].instruction;
    return absl::StrCat("works across micro-batches",
                        graph_.ops[id].kind == OpKind::kCompute &&
                                RuleFor(instruction).is_fallback
                            ? absl::StrCat(", as no rule (--rules) splits ",
                                           TargetOrOpcode(instruction))
                            : "");
  }

  // The op that computed a partial value which others passed on.
  OpId OriginOf(ValueId value) const {
    std::set<ValueId> seen;
    while (seen.insert(value).second) {
      const OpId id = graph_.values[value].producer;
      const FlatOp& op = graph_.ops[id];
      for (size_t i = 0; i < op.operands.size(); ++i) {
        if (split_.states[op.operands[i]].IsPending() &&
            !split_.completed[id][i]) {
          value = op.operands[i];
          break;
        }
      }
    }
    return graph_.values[value].producer;
  }

  // Of several reasons, keeps that of the first op.
  void Refuse(OpId id, std::string why) {
    if (!error_.empty() && id >= error_op_) return;
    error_ = std::move(why);
    error_op_ = id;
  }

  const FlatGraph& graph_;
  const TimeSplit& split_;
  const bool allow_inexact_;
  const bool one_phase_;
  const std::vector<bool> nested_;
  absl::flat_hash_map<OpId, ValueId> control_;  // Of carries and merges.
  std::vector<int32_t> levels_;                 // By value.
  std::vector<bool> heavy_;                     // By value.
  // By value: the op before it that took a stacked value.
  std::vector<OpId> stacked_;
  std::string error_;
  OpId error_op_;
};

}  // namespace

std::string DescribeOp(const FlatOp& op) {
  const OpName source = ParseOpName(op.instruction->metadata.op_name);
  return source.scopes.empty()
             ? absl::StrCat(op.instruction->name, source.Remark())
             : absl::StrCat(op.instruction->name, " (", source.ToString(), ")");
}

absl::StatusOr<std::vector<TimeProgram>> SplitIntoPhases(const FlatGraph& graph,
                                                         const TimeSplit& split,
                                                         bool allow_inexact,
                                                         bool one_phase) {
  return Phases(graph, split, allow_inexact, one_phase).Run();
}

}  // namespace meshwright
