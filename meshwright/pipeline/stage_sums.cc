#include "meshwright/pipeline/stage_sums.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/pipeline/stage_backward.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// A computation under construction that begins with a copy of another one.
class Continued {
 public:
  explicit Continued(const Module& source)
      : program(source.name(), *Mesh::Parse("1")),
        entry(program.module.AddComputation(
            program.UniqueName(source.entry()->name()))),
        builder(&program, entry) {}

  Instruction* CopyOf(const Instruction& from) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : from.operands) {
      operands.push_back(made.at(operand));
    }
    Instruction* copy;
    if (from.opcode == Opcode::kParameter) {
      copy = entry->AddParameter(from.shape, program.UniqueName(from.name));
      copy->metadata = from.metadata;
      copy->frontend_attributes = from.frontend_attributes;
    } else {
      copy = builder.Clone(from, from.shape, std::move(operands));
    }
    made[&from] = copy;
    return copy;
  }

  Module Finish(std::vector<Instruction*> results) && {
    entry->set_root(builder.Tuple(std::move(results)));
    program.module.set_entry(entry);
    program.module.Finish();
    return std::move(program.module);
  }

  LocalProgram program;
  Computation* entry;
  LocalBuilder builder;
  absl::flat_hash_map<const Instruction*, Instruction*> made;
};

class Splitter {
 public:
  Splitter(const MicroBatched& split, const CutGraph& graph,
           const std::vector<std::vector<const Instruction*>>& terms,
           const std::vector<NextValue>& state, std::vector<StageId> stage)
      : split_(split),
        phase_(split.phases[0]),
        graph_(graph),
        terms_(terms),
        state_(state) {
    result_.stage = std::move(stage);
    result_.accumulators = split.accumulators;
  }

  StagedSplit Run() {
    WritePhase();
    WriteApply();
    return std::move(result_);
  }

 private:
  // The terms by stage, for a sum over several stages.
  std::map<StageId, std::vector<const Instruction*>> Groups(size_t i) const {
    std::map<StageId, std::vector<const Instruction*>> groups;
    for (const Instruction* term : terms_[i]) {
      groups[result_.stage[graph_.owner[term->id]]].push_back(term);
    }
    if (groups.size() < 2) groups.clear();
    return groups;
  }

  void WritePhase() {
    Continued copy(phase_.module);
    const Computation& source = *phase_.module.entry();
    for (const auto& instruction : source.instructions()) {
      copy.CopyOf(*instruction);
    }
    result_.phase.arguments = phase_.arguments;
    result_.phase.accumulators = phase_.accumulators;
    std::vector<Instruction*> results;
    std::vector<Instruction*> more;
    for (size_t i = 0; i < source.root()->operands.size(); ++i) {
      const auto groups = Groups(i);
      if (groups.empty()) {
        results.push_back(copy.made.at(source.root()->operands[i]));
        continue;
      }
      const int64_t first = phase_.accumulators[i];
      bool is_first = true;
      for (const auto& [stage, terms] : groups) {
        int64_t number = first;
        if (!is_first) {
          number = static_cast<int64_t>(result_.accumulators.size());
          result_.accumulators.push_back(result_.accumulators[first]);
          extra_[first].push_back(number);
          result_.phase.accumulators.push_back(number);
        }
        Instruction* const sum = AddGroup(copy, *source.root()->operands[i],
                                          number, stage, terms, is_first);
        (is_first ? results : more).push_back(sum);
        is_first = false;
      }
    }
    results.insert(results.end(), more.begin(), more.end());
    result_.phase.module = std::move(copy).Finish(std::move(results));
    result_.stage.resize(result_.phase.module.entry()->size(), kNoStage);
  }

  // The accumulator of one stage, with its terms added.
  Instruction* AddGroup(Continued& copy, const Instruction& whole,
                        int64_t number, StageId stage,
                        const std::vector<const Instruction*>& terms,
                        bool is_first) {
    Instruction* total = nullptr;
    for (const Instruction* operand : whole.operands) {
      if (operand->opcode == Opcode::kParameter) {
        total = copy.made.at(operand);
      }
    }
    copy.builder.set_source(&whole);
    if (!is_first) {
      total = copy.entry->AddParameter(total->shape,
                                       copy.program.UniqueName(total->name));
      result_.phase.arguments.push_back(
          {.kind = Kind::kAccumulator, .index = number});
    }
    Instruction* sum = nullptr;
    for (const Instruction* term : terms) {
      Instruction* const value = copy.made.at(term);
      sum = sum == nullptr ? value
                           : copy.builder.Binary(Opcode::kAdd, sum, value);
      SetStage(*sum, stage);
    }
    sum = copy.builder.Binary(Opcode::kAdd, total, sum);
    SetStage(*sum, stage);
    return sum;
  }

  void SetStage(const Instruction& instruction, StageId stage) {
    if (instruction.id < std::ssize(result_.stage) &&
        result_.stage[instruction.id] != kNoStage) {
      return;  // One of the terms.
    }
    result_.stage.resize(
        std::max<size_t>(result_.stage.size(), instruction.id + 1), kNoStage);
    result_.stage[instruction.id] = stage;
  }

  void WriteApply() {
    const Module& apply = split_.apply.module;
    Continued copy(apply);
    for (const auto& instruction : apply.entry()->instructions()) {
      Instruction* made = nullptr;
      if (instruction.get() == apply.entry()->root() &&
          instruction->opcode == Opcode::kTuple) {
        continue;
      }
      made = copy.CopyOf(*instruction);
      if (instruction->opcode != Opcode::kParameter) continue;
      const MicroBatchArgument argument =
          split_.apply.arguments[instruction->attributes->parameter_number];
      result_.apply.arguments.push_back(argument);
      if (argument.kind != Kind::kAccumulator) continue;
      const auto extra = extra_.find(argument.index);
      if (extra == extra_.end()) continue;
      for (const int64_t number : extra->second) {
        // Copied, so that it is completed on the stage that computed it before
        // it is sent.
        Instruction* const part = copy.builder.Unary(
            Opcode::kCopy,
            copy.entry->AddParameter(made->shape,
                                     copy.program.UniqueName(made->name)));
        result_.apply.arguments.push_back(
            {.kind = Kind::kAccumulator, .index = number});
        copy.made[instruction.get()] = copy.builder.Binary(
            Opcode::kAdd, copy.made.at(instruction.get()), part);
      }
    }
    result_.apply.module = std::move(copy).Finish(OutputsOf(copy));
  }

  // Next values of parameters are copied where they would be shared.
  std::vector<Instruction*> OutputsOf(Continued& copy) const {
    const Module& apply = split_.apply.module;
    std::set<const Instruction*> taken;
    std::vector<Instruction*> outputs;
    for (size_t i = 0; i < apply.entry()->root()->operands.size(); ++i) {
      const Instruction* const output = apply.entry()->root()->operands[i];
      Instruction* made = copy.made.at(output);
      const bool is_own =
          output->opcode == Opcode::kParameter && IsNextOf(i, *output);
      if (!is_own && (made->opcode == Opcode::kParameter ||
                      made->opcode == Opcode::kGetTupleElement ||
                      !taken.insert(output).second)) {
        made = copy.builder.Unary(Opcode::kCopy, made);
      }
      outputs.push_back(made);
    }
    return outputs;
  }

  // Whether output `i` is the next value of this parameter of apply.
  bool IsNextOf(size_t i, const Instruction& parameter) const {
    const MicroBatchArgument& argument =
        split_.apply.arguments[parameter.attributes->parameter_number];
    return argument.kind == Kind::kParameter &&
           std::ranges::any_of(state_, [&](const NextValue& next) {
             return next.parameter == argument.index &&
                    next.output == static_cast<int64_t>(i);
           });
  }

  const MicroBatched& split_;
  const MicroBatchProgram& phase_;
  const CutGraph& graph_;
  const std::vector<std::vector<const Instruction*>>& terms_;
  const std::vector<NextValue>& state_;
  // By accumulator: those for other stages' terms.
  absl::flat_hash_map<int64_t, std::vector<int64_t>> extra_;
  StagedSplit result_{.phase = {.module = Module("")},
                      .apply = {.module = Module("")}};
};

}  // namespace

std::vector<std::vector<const Instruction*>> SumTerms(
    const MicroBatchProgram& phase, const CutGraph& graph,
    const std::vector<Accumulator>& accumulators) {
  const Computation& entry = *phase.module.entry();
  const std::vector<std::vector<Instruction*>> users = Users(entry);
  const auto is_sum = [&](const Instruction* value) {
    return value->opcode == Opcode::kAdd && !graph.copied[value->id] &&
           users[value->id].size() == 1;
  };
  std::vector<std::vector<const Instruction*>> terms;
  for (size_t i = 0; i < entry.root()->operands.size(); ++i) {
    terms.emplace_back();
    const Accumulator& accumulator = accumulators[phase.accumulators[i]];
    const Instruction* const total = entry.root()->operands[i];
    if (accumulator.reduction != Reduction::kSum || accumulator.stacked ||
        !is_sum(total) ||
        std::ranges::count(total->operands, Opcode::kParameter,
                           &Instruction::opcode) != 1) {
      continue;
    }
    std::vector<const Instruction*> stack;
    for (const Instruction* operand : total->operands) {
      if (operand->opcode != Opcode::kParameter) stack.push_back(operand);
    }
    bool is_splittable = true;
    while (!stack.empty()) {
      const Instruction* term = stack.back();
      stack.pop_back();
      if (is_sum(term)) {
        stack.push_back(term->operands[1]);
        stack.push_back(term->operands[0]);
        continue;
      }
      is_splittable = is_splittable && !graph.copied[term->id] &&
                      !graph.parameter[term->id];
      terms.back().push_back(term);
    }
    if (!is_splittable || terms.back().size() < 2) terms.back().clear();
  }
  return terms;
}

StagedSplit SplitSums(const MicroBatched& split, const CutGraph& graph,
                      const std::vector<std::vector<const Instruction*>>& terms,
                      const std::vector<NextValue>& state,
                      std::vector<StageId> stage) {
  return Splitter(split, graph, terms, state, std::move(stage)).Run();
}

}  // namespace meshwright
