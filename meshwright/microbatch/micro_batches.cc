#include "meshwright/microbatch/micro_batches.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/check.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/separate_barriers.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/microbatch/accumulate.h"
#include "meshwright/microbatch/batch_dimensions.h"
#include "meshwright/microbatch/one_phase.h"
#include "meshwright/microbatch/region_split.h"
#include "meshwright/microbatch/sort_in_blocks.h"
#include "meshwright/microbatch/time_phases.h"
#include "meshwright/microbatch/time_split.h"
#include "meshwright/partition/emitter.h"
#include "meshwright/partition/open_islands.h"
#include "meshwright/partition/supported.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// Writes the programs of one step.
class Writer {
 public:
  Writer(const Module& source, const FlatGraph& graph, const TimeSplit& split,
         const std::vector<std::optional<int64_t>>& batch_dims,
         bool allow_inexact, bool has_regions)
      : source_(source),
        graph_(graph),
        split_(split),
        batch_dims_(batch_dims),
        allow_inexact_(allow_inexact),
        has_regions_(has_regions),
        leaves_(source) {}

  absl::StatusOr<MicroBatched> Run(std::vector<TimeProgram> programs) {
    TimeProgram apply = std::move(programs.back());
    programs.pop_back();
    for (size_t phase = 0; phase < programs.size(); ++phase) {
      for (const ValueId value : programs[phase].accumulated) {
        AddAccumulator(value, static_cast<int32_t>(phase));
      }
    }
    KeepAliased(apply);
    absl::StatusOr<MicroBatchProgram> last = absl::UnknownError("not written");
    absl::Status phases;
    SideBySide(2, [&](int i) {
      if (i == 0) {
        phases = WritePhases(programs);
      } else {
        last = WriteApply(apply);
      }
    });
    MW_RETURN_IF_ERROR(phases);
    MW_RETURN_IF_ERROR(last.status());
    MW_ASSIGN_OR_RETURN(Module start, WriteStart());
    return MicroBatched{.count = split_.mesh.device_count(),
                        .parameter_count = std::ssize(graph_.parameters),
                        .phases = std::move(phases_),
                        .apply = *std::move(last),
                        .start = std::move(start),
                        .accumulators = std::move(accumulators_),
                        .estimated = std::move(estimated_)};
  }

 private:
  // A program under construction.
  struct Draft {
    Draft(const Writer& writer, absl::string_view suffix, const Mesh& mesh,
          const TimeProgram& part, Assignment chosen)
        : program(absl::StrCat(writer.source_.name(), "_", suffix), mesh),
          graph(Restricted(writer.graph_, part.live)),
          assignment(std::move(chosen)),
          resharder(&program.mesh, Prices()),
          emitter(graph, assignment, resharder, program),
          entry(program.module.AddComputation(
              program.UniqueName(writer.source_.entry()->name()))),
          scope(&program, entry) {}

    LocalProgram program;
    FlatGraph graph;
    Assignment assignment;
    Resharder resharder;
    Emitter emitter;
    Computation* entry;
    EmitScope scope;
    std::vector<MicroBatchArgument> arguments;
  };

  void AddAccumulator(ValueId value, int32_t phase) {
    const Sharding& state = split_.states[value];
    const Shape& shape = *graph_.values[value].shape;
    numbers_[value] = static_cast<int64_t>(accumulators_.size());
    accumulators_.push_back(
        {.tensor = graph_.producer(value).instruction->name,
         .shape = Shape::Array(AccumulatorType(shape.element_type, state),
                               shape.dimensions),
         .reduction = state.reduction,
         .stacked = !SplitAxes(state).empty(),
         .phase = phase});
  }

  Instruction* AddParameter(Draft& draft, MicroBatchArgument argument,
                            Shape shape, const std::string& name) {
    draft.arguments.push_back(argument);
    return draft.entry->AddParameter(std::move(shape),
                                     draft.program.UniqueName(name));
  }

  // The part of a program that is computed on the whole batch.
  struct WholePart {
    WholePart(const Writer& writer, const TimeProgram& part, Draft& draft)
        : graph(Restricted(writer.graph_, part.whole)),
          assignment(writer.AllReplicated()),
          emitter(graph, assignment, draft.resharder, draft.program),
          scope(&draft.program, draft.entry) {}

    FlatGraph graph;
    Assignment assignment;
    Emitter emitter;
    EmitScope scope;
  };

  Assignment AllReplicated() const {
    Assignment whole{.rules = split_.assignment.rules};
    for (const Rule& rule : whole.rules) {
      whole.strategies.push_back(ReplicatedStrategy(rule));
    }
    return whole;
  }

  // The step's parameters that the program needs; of those that `whole` needs,
  // a micro-batch takes its part itself.
  void AddParameters(Draft& draft, WholePart* whole = nullptr) {
    for (size_t i = 0; i < graph_.parameters.size(); ++i) {
      const FlatOp& op = draft.graph.ops[graph_.parameters[i]];
      const bool in_whole =
          whole != nullptr && whole->graph.ops[graph_.parameters[i]].live;
      if (!op.live && !in_whole) continue;
      const Sharding sharding =
          in_whole ? Sharding::Replicated(
                         graph_.values[op.first_result].shape->dimensions)
                   : draft.emitter.ShardingOf(op.first_result);
      MicroBatchArgument argument{.kind = Kind::kParameter,
                                  .index = static_cast<int64_t>(i)};
      if (!IsReplicated(sharding)) argument.batch_dim = batch_dims_[i];
      Instruction* parameter = AddParameter(
          draft, argument, draft.emitter.LocalShape(op.first_result, sharding),
          op.instruction->name);
      parameter->metadata = op.instruction->metadata;
      parameter->frontend_attributes = op.instruction->frontend_attributes;
      draft.emitter.Define(draft.scope, op.first_result, sharding, parameter);
      if (in_whole) {
        whole->emitter.Define(whole->scope, op.first_result, sharding,
                              parameter);
      }
    }
  }

  Instruction* AddAccumulatorParameter(Draft& draft, ValueId value,
                                       const char* role) {
    const int64_t number = numbers_.at(value);
    const Accumulator& accumulator = accumulators_[number];
    Instruction* parameter = AddParameter(
        draft, {.kind = Kind::kAccumulator, .index = number}, accumulator.shape,
        absl::StrCat("accumulated_", accumulator.tensor));
    parameter->frontend_attributes["mw.name"] =
        absl::StrCat("accumulated/", number);
    parameter->frontend_attributes["mw.role"] = role;
    return parameter;
  }

  // Values completed by earlier phases.
  void AddGiven(Draft& draft, const TimeProgram& part) {
    for (const ValueId value : part.given) {
      const Shape& shape = *graph_.values[value].shape;
      Instruction* parameter = AddAccumulatorParameter(draft, value, "data");
      draft.emitter.Define(
          draft.scope, value, Sharding::Replicated(shape.dimensions),
          draft.scope.builder.Convert(shape.element_type, parameter));
    }
  }

  void AddWhole(Draft& draft, WholePart& whole, const TimeProgram& part) {
    whole.emitter.EmitRegion(RegionId{0}, whole.scope);
    for (const ValueId value : part.given) {
      const Sharding sharding =
          Sharding::Replicated(graph_.values[value].shape->dimensions);
      draft.emitter.Define(draft.scope, value, sharding,
                           whole.emitter.Get(whole.scope, value, sharding));
    }
  }

  absl::StatusOr<MicroBatchProgram> Finish(Draft& draft) {
    draft.program.module.set_entry(draft.entry);
    draft.program.module.Finish();
    for (const auto& [instruction, note] : draft.program.collectives) {
      return absl::InvalidArgumentError(absl::StrCat(
          note.tensor, ": cannot be the same in every micro-batch"));
    }
    if (has_regions_) {
      MW_ASSIGN_OR_RETURN(draft.program.module,
                          CloseIslands(std::move(draft.program.module)));
    }
    MW_RETURN_IF_ERROR(Annotate(Verify(draft.program.module),
                                "internal error: the micro-batch program"));
    return MicroBatchProgram{.module = std::move(draft.program.module),
                             .arguments = std::move(draft.arguments)};
  }

  absl::Status WritePhases(const std::vector<TimeProgram>& programs) {
    for (const TimeProgram& program : programs) {
      MW_ASSIGN_OR_RETURN(MicroBatchProgram written, WritePhase(program));
      phases_.push_back(std::move(written));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<MicroBatchProgram> WritePhase(const TimeProgram& part) {
    Draft draft(*this, absl::StrCat("micro", phases_.size()), split_.mesh, part,
                {});
    draft.assignment = SplitAsNeeded(draft.graph, split_);
    if (allow_inexact_) {
      draft.emitter.set_completion([this](Instruction* value,
                                          Reduction reduction,
                                          LocalBuilder& builder) {
        estimated_.push_back(builder.source()->name);
        return Estimate(value, reduction, builder);
      });
    }
    std::optional<WholePart> whole;
    if (!part.whole.empty()) whole.emplace(*this, part, draft);
    AddParameters(draft, whole.has_value() ? &*whole : nullptr);
    Instruction* index =
        AddParameter(draft, {.kind = Kind::kIndex},
                     Shape::Scalar(ElementType::kS32), "micro_batch");
    index->frontend_attributes["mw.name"] = "micro_batch";
    index->frontend_attributes["mw.role"] = "data";
    draft.scope.builder.set_device(index);
    if (whole.has_value()) {
      AddWhole(draft, *whole, part);
    } else {
      AddGiven(draft, part);
    }
    std::vector<Instruction*> before;
    std::vector<int64_t> numbers;
    for (const ValueId value : part.accumulated) {
      numbers.push_back(numbers_.at(value));
      before.push_back(AddAccumulatorParameter(draft, value, "state"));
    }
    draft.emitter.EmitRegion(RegionId{0}, draft.scope);
    std::vector<Instruction*> after;
    for (size_t i = 0; i < before.size(); ++i) {
      const ValueId value = part.accumulated[i];
      const Sharding& state = split_.states[value];
      after.push_back(Accumulate(before[i],
                                 draft.emitter.Get(draft.scope, value, state),
                                 state, draft.scope.builder));
      draft.program.module.aliases.push_back(
          {.output_index = {static_cast<int64_t>(i)},
           .parameter_number = before[i]->attributes->parameter_number});
    }
    draft.entry->set_root(draft.scope.builder.Tuple(std::move(after)));
    MW_ASSIGN_OR_RETURN(MicroBatchProgram written, Finish(draft));
    written.accumulators = std::move(numbers);
    return written;
  }

  // Donated parameters are kept, used or not.
  void KeepAliased(TimeProgram& apply) const {
    for (const Alias& alias : source_.aliases) {
      apply.live[graph_.parameters[leaves_.Of(alias.parameter_number,
                                              alias.parameter_index)]] = true;
    }
  }

  absl::StatusOr<MicroBatchProgram> WriteApply(const TimeProgram& part) {
    absl::StatusOr<Mesh> once = Mesh::Create({{"time", 1}});
    MW_CHECK(once.ok()) << once.status();
    Draft draft(*this, "apply", *once, part, AllReplicated());
    AddParameters(draft);
    AddGiven(draft, part);
    draft.emitter.EmitRegion(RegionId{0}, draft.scope);
    std::vector<Instruction*> results;
    for (const OpId output : graph_.outputs) {
      results.push_back(draft.emitter.Get(draft.scope,
                                          graph_.ops[output].operands[0],
                                          draft.emitter.OperandOf(output, 0)));
    }
    size_t next = 0;
    draft.entry->set_root(Assemble(source_.entry()->root()->shape, results,
                                   next, draft.scope.builder));
    CopyAliases(draft);
    draft.program.module.frontend_attributes = source_.frontend_attributes;
    return Finish(draft);
  }

  void CopyAliases(Draft& draft) const {
    absl::flat_hash_map<size_t, int64_t> number_of;  // By leaf.
    for (size_t i = 0; i < draft.arguments.size(); ++i) {
      if (draft.arguments[i].kind == Kind::kParameter) {
        number_of[draft.arguments[i].index] = static_cast<int64_t>(i);
      }
    }
    for (Alias alias : source_.aliases) {
      alias.parameter_number = number_of.at(
          leaves_.Of(alias.parameter_number, alias.parameter_index));
      alias.parameter_index.clear();
      draft.program.module.aliases.push_back(std::move(alias));
    }
    for (BufferDonor donor : source_.buffer_donors) {
      const auto found = number_of.find(
          leaves_.Of(donor.parameter_number, donor.parameter_index));
      if (found == number_of.end()) continue;
      donor.parameter_number = found->second;
      donor.parameter_index.clear();
      draft.program.module.buffer_donors.push_back(std::move(donor));
    }
  }

  absl::StatusOr<Module> WriteStart() const {
    LocalProgram program(absl::StrCat(source_.name(), "_start"), split_.mesh);
    Computation* entry =
        program.module.AddComputation(program.UniqueName("start"));
    LocalBuilder builder(&program, entry);
    std::vector<Instruction*> values;
    for (const Accumulator& accumulator : accumulators_) {
      values.push_back(
          builder.Broadcast(builder.Identity(accumulator.reduction,
                                             accumulator.shape.element_type),
                            accumulator.shape.dimensions));
    }
    entry->set_root(builder.Tuple(std::move(values)));
    program.module.set_entry(entry);
    program.module.Finish();
    MW_RETURN_IF_ERROR(
        Annotate(Verify(program.module), "internal error: the first values"));
    return std::move(program.module);
  }

  const Module& source_;
  const FlatGraph& graph_;
  const TimeSplit& split_;
  const std::vector<std::optional<int64_t>>& batch_dims_;
  const bool allow_inexact_;
  const bool has_regions_;  // Of shard_map, opened.
  const ParameterLeaves leaves_;
  std::vector<Accumulator> accumulators_;
  absl::flat_hash_map<ValueId, int64_t> numbers_;  // Of accumulators.
  std::vector<MicroBatchProgram> phases_;
  std::vector<std::string> estimated_;
};

absl::StatusOr<MicroBatched> Write(
    const Module& module, const FlatGraph& graph, TimeSplit split,
    const std::vector<std::optional<int64_t>>& batch_dims,
    const MicroBatchOptions& options, bool one_phase, bool has_regions) {
  PlaceAccumulators(graph, split);
  MW_ASSIGN_OR_RETURN(
      std::vector<TimeProgram> programs,
      SplitIntoPhases(graph, split, options.allow_inexact, one_phase));
  return Writer(module, graph, split, batch_dims, options.allow_inexact,
                has_regions)
      .Run(std::move(programs));
}

// A step with islands, which are followed op by op.
absl::StatusOr<MicroBatched> SplitOpened(const Module& module,
                                         const MicroBatchOptions& options,
                                         bool one_phase) {
  MW_RETURN_IF_ERROR(CheckSupported(Flatten(module)));
  MW_ASSIGN_OR_RETURN(const OpenedIslands open, OpenIslands(module));
  const FlatGraph graph = Flatten(open.module);
  MW_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> batch_dims,
                      BatchDimensions(open.module, graph, options));
  MW_ASSIGN_OR_RETURN(TimeSplit split,
                      SplitWithRegions(graph, open, options.count, batch_dims,
                                       options.allow_inexact));
  return Write(open.module, graph, std::move(split), batch_dims, options,
               one_phase,
               /*has_regions=*/true);
}

absl::StatusOr<MicroBatched> SplitClosed(const Module& module,
                                         const MicroBatchOptions& options,
                                         bool one_phase) {
  const FlatGraph graph = Flatten(module);
  MW_RETURN_IF_ERROR(CheckSupported(graph));
  MW_ASSIGN_OR_RETURN(const std::vector<std::optional<int64_t>> batch_dims,
                      BatchDimensions(module, graph, options));
  return Write(
      module, graph,
      SplitOverTime(graph, options.count, batch_dims, options.allow_inexact),
      batch_dims, options, one_phase, /*has_regions=*/false);
}

absl::StatusOr<MicroBatched> Split(const Module& module,
                                   const MicroBatchOptions& options,
                                   bool one_phase) {
  if (options.count < 2 || options.count > kMaxMicroBatches) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.count, " micro-batches: must be 2 to ", kMaxMicroBatches));
  }
  // The arrays in a barrier of activations and weights have different shardings
  // over time.
  if (HasJointBarriers(module)) {
    Module separate = InlineCalls(module);
    SeparateBarriers(separate);
    return Split(separate, options, one_phase);
  }
  const std::optional<Module> in_blocks =
      SortInBlocks(module, options.count, options.row_blocks);
  const Module& step = in_blocks.has_value() ? *in_blocks : module;
  return IslandsIn(step).empty() ? SplitClosed(step, options, one_phase)
                                 : SplitOpened(step, options, one_phase);
}

}  // namespace

absl::StatusOr<MicroBatched> SplitMicroBatches(
    const Module& module, const MicroBatchOptions& options) {
  return Split(module, options, /*one_phase=*/false);
}

absl::StatusOr<MicroBatched> SplitInOnePhase(const Module& module,
                                             const MicroBatchOptions& options) {
  return Split(module, options, /*one_phase=*/true);
}

}  // namespace meshwright
