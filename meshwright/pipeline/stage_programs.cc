#include "meshwright/pipeline/stage_programs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/pipeline/cut_module.h"
#include "meshwright/pipeline/stage_apply.h"
#include "meshwright/pipeline/stage_backward.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;
using ProgramKind = StageProgram::Kind;

class Stager {
 public:
  Stager(const MicroBatched& split, const StageOptions& options)
      : split_(split), options_(options) {
    step_.stages = options.stages;
    step_.micro_batches = split.count;
    step_.state = options.state;
  }

  absl::StatusOr<StagedStep> Run() {
    MW_RETURN_IF_ERROR(Check());
    Place();
    MW_RETURN_IF_ERROR(CutMicroBatch());
    MW_RETURN_IF_ERROR(CutApply());
    AddAliases();
    for (StageId stage{0}; stage < options_.stages; ++stage) AddStart(stage);
    return std::move(step_);
  }

 private:
  absl::Status Check() const {
    if (split_.phases.size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the step needs ", split_.accumulators[0].tensor,
          " of the whole batch before it can go on, which a pipeline cannot "
          "give it"));
    }
    const Instruction* root = split_.apply.module.entry()->root();
    for (const Shape& shape : root->shape.tuple_shapes) {
      if (!shape.IsArray()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the step returns ", shape.ToString(),
                         "; a pipeline needs arrays"));
      }
    }
    if (root->opcode != Opcode::kTuple) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the step returns ", root->shape.ToString(), "; it must be a tuple"));
    }
    const CutGraph graph = GraphOf(split_.phases[0]);
    std::vector<bool> is_used(options_.stages);
    for (size_t id = 0; id < options_.forward.size(); ++id) {
      const StageId stage = options_.forward[id];
      if (stage != kNoStage && graph.IsNode(static_cast<int32_t>(id))) {
        is_used[stage] = true;
      }
    }
    for (StageId stage{0}; stage < options_.stages; ++stage) {
      if (is_used[stage]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", int{stage}, " of ", options_.stages,
                       " has nothing to do; the step cannot be cut so often"));
    }
    return absl::OkStatus();
  }

  bool IsState(int64_t leaf) const {
    return std::ranges::any_of(options_.state, [&](const NextValue& next) {
      return next.parameter == leaf;
    });
  }

  // Finds the stages that use leaf arrays in the forward pass.
  void FindHomes(const Computation& entry, const CutGraph& graph) {
    const auto stages = ForwardStages(entry, graph, options_.forward);
    for (const Instruction* parameter : entry.Parameters()) {
      const MicroBatchArgument& argument =
          split_.phases[0].arguments[parameter->attributes->parameter_number];
      if (argument.kind != Kind::kParameter) continue;
      leaf_stages_[argument.index] = stages[parameter->id];
    }
  }

  // By accumulator: the stages of the weights that it updates.
  std::map<int64_t, std::set<StageId>> GradientHomes() const {
    const auto outputs = OutputsLike(*split_.apply.module.entry());
    std::map<int64_t, std::set<StageId>> homes;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const MicroBatchArgument& argument = split_.apply.arguments[i];
      if (argument.kind != Kind::kAccumulator) continue;
      for (const NextValue& next : options_.state) {
        if (!std::ranges::count(outputs[i], next.output)) continue;
        const auto found = leaf_stages_.find(next.parameter);
        if (found == leaf_stages_.end()) continue;
        homes[argument.index].insert(found->second.begin(),
                                     found->second.end());
      }
    }
    return homes;
  }

  void Place() {
    const MicroBatchProgram& phase = split_.phases[0];
    const Computation& entry = *phase.module.entry();
    const CutGraph graph = GraphOf(phase);
    BackwardProblem problem{.entry = &entry,
                            .graph = &graph,
                            .stages = options_.stages,
                            .micro_batches = split_.count,
                            .forward = options_.forward};
    for (int32_t id = 0; id < entry.size(); ++id) {
      if (!graph.IsNode(id)) problem.forward[id] = kNoStage;
    }
    FindHomes(entry, graph);
    for (const MicroBatchArgument& argument : phase.arguments) {
      problem.is_state.push_back(argument.kind == Kind::kParameter &&
                                 IsState(argument.index));
    }
    std::map<int64_t, std::set<StageId>> homes = GradientHomes();
    for (const int64_t accumulator : phase.accumulators) {
      problem.homes.push_back(homes[accumulator]);
    }
    problem.terms = SumTerms(phase, graph, split_.accumulators);
    is_forward_.resize(entry.size());
    for (int32_t id = 0; id < entry.size(); ++id) {
      is_forward_[id] = problem.forward[id] != kNoStage;
    }
    parts_ = SplitSums(split_, graph, problem.terms, options_.state,
                       PlaceBackward(problem));
    is_forward_.resize(parts_.phase.module.entry()->size());
    // An added sum whose terms are all forward is forward, too.
    const CutGraph whole = GraphOf(parts_.phase);
    for (int32_t id = entry.size(); id < std::ssize(is_forward_); ++id) {
      if (!whole.IsNode(id)) continue;
      is_forward_[id] = std::ranges::all_of(
          whole.sources[id], [&](const Instruction* source) {
            return whole.parameter[source->id] ||
                   is_forward_[whole.owner[source->id]];
          });
    }
  }

  // By instruction id: whether cotangents for earlier stages depend on it.
  std::vector<bool> GoesBack(const CutGraph& graph) const {
    std::vector<bool> back(parts_.stage.size());
    for (auto id = static_cast<int32_t>(back.size()); id-- > 0;) {
      if (!graph.IsNode(id) || is_forward_[id]) continue;
      for (const Instruction* source : graph.sources[id]) {
        const int32_t owner = graph.owner[source->id];
        if (graph.parameter[owner] || is_forward_[owner]) continue;
        if (back[id] || parts_.stage[owner] != parts_.stage[id]) {
          back[owner] = true;
        }
      }
    }
    return back;
  }

  absl::Status CutMicroBatch() {
    const Module& module = parts_.phase.module;
    const CutGraph graph = GraphOf(parts_.phase);
    const std::vector<bool> back = GoesBack(graph);
    const int32_t stages = options_.stages;
    std::vector<int32_t> program_of(parts_.stage.size(), 0);
    for (int32_t id = 0; id < std::ssize(program_of); ++id) {
      if (!graph.IsNode(id)) continue;
      const StageId stage = parts_.stage[id];
      MW_CHECK(stage >= 0 && stage < stages)
          << module.entry()->instruction(id)->name << " has no stage";
      program_of[id] = stage;
      if (is_forward_[id]) continue;
      const bool is_weight = options_.split_backward && !back[id];
      program_of[id] = stages + 2 * (stages - 1 - stage) + (is_weight ? 1 : 0);
    }
    absl::StatusOr<ModuleCut> cut =
        CutModule(module, graph, program_of, 3 * stages);
    if (!cut.ok()) {
      return Annotate(cut.status(), "stages do not follow one another");
    }
    std::vector<Slot> slots;
    for (StageId stage{0}; stage < stages; ++stage) {
      slots.push_back({ProgramKind::kForward, stage});
    }
    for (StageId stage(stages); stage-- > 0;) {
      slots.push_back({ProgramKind::kInput, stage});
      slots.push_back({ProgramKind::kWeight, stage});
    }
    TakePrograms(*std::move(cut), parts_.phase, slots);
    TakeAccumulators();
    return absl::OkStatus();
  }

  struct Slot {
    ProgramKind kind = ProgramKind::kForward;
    StageId stage;
    int32_t round = 0;
  };

  // Adds the programs of a cut that are not empty. Sets outputs_.
  void TakePrograms(ModuleCut cut, const MicroBatchProgram& whole,
                    const std::vector<Slot>& slots) {
    const auto first_value = static_cast<int32_t>(step_.values.size());
    const auto input_of = [&](const CutSource& source) {
      if (source.kind == CutSource::Kind::kValue) {
        return StageInput{.kind = StageInput::Kind::kValue,
                          .index = first_value + source.index};
      }
      const MicroBatchArgument& argument = whole.arguments[source.index];
      return StageInput{.kind = argument.kind == Kind::kParameter
                                    ? StageInput::Kind::kParameter
                                : argument.kind == Kind::kIndex
                                    ? StageInput::Kind::kMicroBatch
                                    : StageInput::Kind::kAccumulator,
                        .index = argument.index,
                        .batch_dim = argument.batch_dim};
    };
    std::vector<ProgramId> numbers(cut.programs.size(), ProgramId(-1));
    for (size_t i = 0; i < cut.programs.size(); ++i) {
      CutProgram& program = cut.programs[i];
      if (program.results.empty()) continue;
      numbers[i] = ProgramId(step_.programs.size());
      StageProgram& taken = step_.programs.emplace_back(
          StageProgram{.kind = slots[i].kind,
                       .stage = slots[i].stage,
                       .round = slots[i].round,
                       .module = std::move(program.module)});
      for (const CutSource& source : program.parameters) {
        taken.inputs.push_back(input_of(source));
      }
      for (const int32_t value : program.results) {
        taken.results.push_back(first_value + value);
      }
    }
    for (const CutValue& value : cut.values) {
      StageValue& taken = step_.values.emplace_back(
          StageValue{.name = value.instruction->name,
                     .shape = value.instruction->shape,
                     .program = numbers[value.program]});
      for (const int32_t user : value.users) {
        taken.users.push_back(numbers[user]);
      }
    }
    outputs_.clear();
    for (const CutSource& output : cut.outputs) {
      outputs_.push_back(input_of(output));
    }
  }

  void TakeAccumulators() {
    for (const Accumulator& accumulator : parts_.accumulators) {
      step_.accumulators.push_back(
          {.shape = accumulator.shape, .reduction = accumulator.reduction});
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const int64_t number = parts_.phase.accumulators[i];
      if (outputs_[i].kind != StageInput::Kind::kValue) continue;
      StageValue& value = step_.values[outputs_[i].index];
      value.accumulator = number;
      step_.accumulators[number].stage = step_.programs[value.program].stage;
    }
  }

  // The stages of the parameters of apply, as far as they follow from the
  // forward pass.
  std::vector<StageId> ApplyHomes() const {
    std::vector<StageId> homes;
    for (const MicroBatchArgument& argument : parts_.apply.arguments) {
      if (argument.kind == Kind::kAccumulator) {
        homes.push_back(step_.accumulators[argument.index].stage);
        continue;
      }
      const auto found = leaf_stages_.find(argument.index);
      const bool known = found != leaf_stages_.end() && !found->second.empty();
      homes.push_back(known ? *found->second.begin() : kNoStage);
    }
    return homes;
  }

  absl::Status CutApply() {
    const Module& module = parts_.apply.module;
    const Computation& entry = *module.entry();
    const CutGraph graph = MakeCutGraph(entry);
    std::vector<int64_t> next_of(entry.root()->operands.size(), -1);
    for (size_t i = 0; i < parts_.apply.arguments.size(); ++i) {
      const MicroBatchArgument& argument = parts_.apply.arguments[i];
      if (argument.kind != Kind::kParameter) continue;
      for (const NextValue& next : options_.state) {
        if (next.parameter == argument.index) {
          next_of[next.output] = static_cast<int64_t>(i);
        }
      }
    }
    const ApplyPlaces placed = PlaceApply(entry, graph, ApplyHomes(), next_of);
    TakeHomes(placed);
    std::set<ApplyPlace> used;
    std::vector<bool> is_placed(entry.size());
    for (int32_t id = 0; id < entry.size(); ++id) {
      is_placed[id] = graph.IsNode(id);
    }
    for (const Instruction* output : entry.root()->operands) {
      if (graph.copied[output->id]) is_placed[output->id] = true;
    }
    for (int32_t id = 0; id < entry.size(); ++id) {
      if (is_placed[id]) used.insert(placed.places[id]);
    }
    std::vector<int32_t> program_of(entry.size(), 0);
    for (int32_t id = 0; id < entry.size(); ++id) {
      if (!is_placed[id]) continue;
      program_of[id] = static_cast<int32_t>(
          std::distance(used.begin(), used.find(placed.places[id])));
    }
    MW_ASSIGN_OR_RETURN(ModuleCut cut,
                        CutModule(module, graph, program_of,
                                  static_cast<int32_t>(used.size())));
    std::vector<Slot> slots;
    for (const ApplyPlace& place : used) {
      slots.push_back({ProgramKind::kApply, place.stage, place.round});
    }
    TakePrograms(std::move(cut), parts_.apply, slots);
    step_.outputs = std::move(outputs_);
    return absl::OkStatus();
  }

  void TakeHomes(const ApplyPlaces& placed) {
    step_.homes.assign(split_.parameter_count, StageId(0));
    for (const auto& [leaf, stages] : leaf_stages_) {
      if (!stages.empty()) step_.homes[leaf] = *stages.begin();
    }
    for (size_t i = 0; i < parts_.apply.arguments.size(); ++i) {
      const MicroBatchArgument& argument = parts_.apply.arguments[i];
      if (argument.kind == Kind::kParameter) {
        step_.homes[argument.index] = placed.parameters[i];
      }
    }
  }

  // Accumulators and state are updated in place by the last program of their
  // stage that reads them.
  void AddAliases() {
    std::map<int64_t, int64_t> output_of;  // Of a leaf.
    for (const NextValue& next : options_.state) {
      const StageInput& output = step_.outputs[next.output];
      if (output.kind == StageInput::Kind::kValue) {
        output_of[next.parameter] = output.index;
      }
    }
    std::map<int64_t, int32_t> last_use;  // Of a leaf, at home.
    for (size_t i = 0; i < step_.programs.size(); ++i) {
      for (const StageInput& input : step_.programs[i].inputs) {
        if (input.kind == StageInput::Kind::kParameter &&
            step_.programs[i].stage == step_.homes[input.index]) {
          last_use[input.index] = static_cast<int32_t>(i);
        }
      }
    }
    for (size_t i = 0; i < step_.programs.size(); ++i) {
      StageProgram& program = step_.programs[i];
      for (size_t p = 0; p < program.inputs.size(); ++p) {
        const StageInput& input = program.inputs[p];
        for (size_t r = 0; r < program.results.size(); ++r) {
          const int32_t value = program.results[r];
          const bool is_next =
              (input.kind == StageInput::Kind::kAccumulator &&
               step_.values[value].accumulator == input.index) ||
              (input.kind == StageInput::Kind::kParameter &&
               output_of.contains(input.index) &&
               output_of.at(input.index) == value &&
               last_use.at(input.index) == static_cast<int32_t>(i));
          if (!is_next) continue;
          program.module.aliases.push_back(
              {.output_index = {static_cast<int64_t>(r)},
               .parameter_number = static_cast<int64_t>(p)});
        }
      }
    }
  }

  // Makes the program for the initial values of a stage's accumulators.
  void AddStart(StageId stage) {
    LocalProgram program(absl::StrCat(split_.start.name(), "_", int{stage}),
                         *Mesh::Parse("1"));
    Computation* const entry =
        program.module.AddComputation(program.UniqueName("start"));
    LocalBuilder builder(&program, entry);
    StageProgram start{
        .kind = ProgramKind::kStart, .stage = stage, .module = Module("")};
    std::vector<Instruction*> firsts;
    for (size_t i = 0; i < step_.accumulators.size(); ++i) {
      const StageAccumulator& accumulator = step_.accumulators[i];
      if (accumulator.stage != stage) continue;
      firsts.push_back(
          builder.Broadcast(builder.Identity(accumulator.reduction,
                                             accumulator.shape.element_type),
                            accumulator.shape.dimensions));
      start.results.push_back(static_cast<int32_t>(step_.values.size()));
      step_.values.push_back({.name = firsts.back()->name,
                              .shape = accumulator.shape,
                              .program = ProgramId(step_.programs.size()),
                              .accumulator = static_cast<int64_t>(i)});
    }
    if (firsts.empty()) return;
    entry->set_root(builder.Tuple(std::move(firsts)));
    program.module.set_entry(entry);
    program.module.Finish();
    start.module = std::move(program.module);
    step_.programs.push_back(std::move(start));
  }

  const MicroBatched& split_;
  const StageOptions& options_;
  StagedStep step_;
  std::map<int64_t, std::set<StageId>> leaf_stages_;
  std::vector<bool> is_forward_;  // By instruction id of the phase.
  StagedSplit parts_{.phase = {.module = Module("")},
                     .apply = {.module = Module("")}};
  std::vector<StageInput> outputs_;  // Of the last cut.
};

}  // namespace

std::string StageProgram::Name() const {
  switch (kind) {
    case Kind::kForward:
      return absl::StrCat("F", int{stage});
    case Kind::kInput:
      return absl::StrCat("I", int{stage});
    case Kind::kWeight:
      return absl::StrCat("W", int{stage});
    case Kind::kApply:
      return absl::StrCat("A", int{stage}, ".", round);
    case Kind::kStart:
      return absl::StrCat("S", int{stage});
  }
  return "?";
}

CutGraph GraphOf(const MicroBatchProgram& phase) {
  std::vector<bool> is_fixed;
  for (const MicroBatchArgument& argument : phase.arguments) {
    is_fixed.push_back(argument.kind == Kind::kParameter &&
                       !argument.batch_dim.has_value());
  }
  return MakeCutGraph(*phase.module.entry(), is_fixed);
}

absl::StatusOr<StagedStep> MakeStagePrograms(const MicroBatched& split,
                                             const StageOptions& options) {
  return Stager(split, options).Run();
}

}  // namespace meshwright
