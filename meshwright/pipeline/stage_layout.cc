#include "meshwright/pipeline/stage_layout.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Shards a dimension over the first axis of the mesh, if that divides it.
Sharding SplitAlong(const Shape& shape, int64_t dimension, const Mesh& mesh) {
  Sharding sharding = Sharding::Replicated(shape.dimensions);
  if (mesh.axes().empty()) return sharding;
  const AxisList axes = mesh.SubAxes(0);
  const int64_t size = shape.dimensions[dimension];
  if (axes.empty() || size % mesh.Size(axes) != 0) return sharding;
  sharding.dims[dimension] = {{size, axes}};
  return sharding;
}

// The sharding on `to` that is most like `sharding` on `from`.
Sharding Moved(const Shape& shape, const Sharding& sharding, const Mesh& from,
               const Mesh& to) {
  if (from.axes() == to.axes()) return sharding;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    if (!AxesOf(sharding.dims[dim]).empty()) return SplitAlong(shape, dim, to);
  }
  return Sharding::Replicated(shape.dimensions);
}

class Layouter {
 public:
  // Without strategies: they are null in all `splits`.
  Layouter(const StagedStep& step, const std::vector<StageSplit>& splits)
      : step_(step), splits_(splits) {
    for (const StageSplit& split : splits) {
      layout_.meshes.push_back(*split.mesh);
    }
    FindResults();
  }

  absl::StatusOr<StagedLayout> Run() {
    for (const StageProgram& program : step_.programs) {
      absl::StatusOr<Partitioned> split = Split(program);
      if (!split.ok()) return Annotate(split.status(), program.Name());
      for (size_t i = 0; i < program.results.size(); ++i) {
        layout_.values[{program.results[i], program.stage}] = split->outputs[i];
      }
      layout_.programs.push_back(*std::move(split));
    }
    return std::move(layout_);
  }

 private:
  // Which state and accumulators results are the next values of, and whether
  // these stay on their stage.
  void FindResults() {
    for (const StageInput& output : step_.outputs) {
      if (output.kind == StageInput::Kind::kValue) {
        is_output_.insert(output.index);
      }
    }
    for (const NextValue& next : step_.state) {
      is_state_.insert(next.parameter);
      const StageInput& output = step_.outputs[next.output];
      if (output.kind == StageInput::Kind::kValue) {
        state_of_[output.index] = next.parameter;
      }
    }
    stays_.assign(step_.accumulators.size(), true);
    made_by_.assign(step_.accumulators.size(), nullptr);
    for (const StageProgram& program : step_.programs) {
      for (const StageInput& input : program.inputs) {
        if (input.kind == StageInput::Kind::kAccumulator &&
            program.stage != step_.accumulators[input.index].stage) {
          stays_[input.index] = false;
        }
      }
      for (size_t i = 0; i < program.results.size(); ++i) {
        const StageValue& value = step_.values[program.results[i]];
        if (!value.accumulator.has_value() ||
            program.kind == StageProgram::Kind::kStart) {
          continue;
        }
        made_by_[*value.accumulator] =
            program.module.entry()->root()->operands[i];
      }
    }
  }

  absl::StatusOr<Partitioned> Split(const StageProgram& program) {
    const auto& [mesh, strategies, prices] = splits_[program.stage];
    Pins pins = PinsOf(program);
    if (strategies == nullptr) {
      return Partition(program.module, *mesh, std::move(pins), *prices, &ties_);
    }
    std::vector<Sharding> parameters;
    for (const auto& pin : pins.parameters) parameters.push_back(pin->sharding);
    std::vector<StageStrategies::Output> outputs;
    for (size_t i = 0; i < pins.outputs.size(); ++i) {
      StageStrategies::Output& output = outputs.emplace_back();
      if (pins.outputs[i].has_value()) {
        output.sharding = pins.outputs[i]->sharding;
      }
      output.may_pend = StaysFor(program.results[i], program.stage);
    }
    const FlatGraph graph = Flatten(program.module);
    Resharder resharder(mesh, *prices);
    return PartitionAs(program.module, *mesh, graph,
                       strategies->For(graph, parameters, outputs), resharder,
                       &ties_);
  }

  // Whether one program of the same stage uses the value, and nothing else
  // does.
  bool StaysFor(int32_t value, StageId stage) const {
    const std::vector<ProgramId>& users = step_.values[value].users;
    return users.size() == 1 && step_.programs[users[0]].stage == stage &&
           !is_output_.contains(value);
  }

  Pins PinsOf(const StageProgram& program) {
    Pins pins;
    const std::vector<Instruction*> parameters =
        program.module.entry()->Parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      pins.parameters.emplace_back(
          InputSharding(program, program.inputs[i], parameters[i]->shape));
    }
    for (const int32_t value : program.results) {
      pins.outputs.push_back(ResultPin(program, step_.values[value], value));
    }
    return pins;
  }

  Sharding InputSharding(const StageProgram& program, const StageInput& input,
                         const Shape& shape) {
    const std::pair<int64_t, StageId> key = {input.index, program.stage};
    switch (input.kind) {
      case StageInput::Kind::kMicroBatch:
        return Sharding::Replicated(shape.dimensions);
      case StageInput::Kind::kParameter:
        return ParameterSharding(input, program, shape);
      case StageInput::Kind::kAccumulator:
        return AccumulatorSharding(input.index, program.stage);
      case StageInput::Kind::kValue:
        break;
    }
    if (const auto found = layout_.values.find(key);
        found != layout_.values.end()) {
      return found->second;
    }
    return layout_.values[key] = Received(input.index, program.stage, shape);
  }

  // The sharding of a value from another stage: as there or, on another mesh,
  // as it would be computed here.
  Sharding Received(int64_t index, StageId stage, const Shape& shape) const {
    const StageProgram& maker = step_.programs[step_.values[index].program];
    const Mesh& from = layout_.meshes[maker.stage];
    const Mesh& to = layout_.meshes[stage];
    const StageStrategies* strategies = splits_[stage].strategies;
    if (strategies != nullptr && from.axes() != to.axes()) {
      const auto result = std::ranges::find(maker.results, index);
      const std::optional<Sharding> here =
          strategies->Result(*maker.module.entry()->root()->operands.at(
              result - maker.results.begin()));
      if (here.has_value()) return Completed(*here);
    }
    return Moved(shape, layout_.values.at({index, maker.stage}), from, to);
  }

  Sharding ParameterSharding(const StageInput& input,
                             const StageProgram& program, const Shape& shape) {
    const std::pair<int64_t, StageId> key = {input.index, program.stage};
    const auto& [mesh, strategies, prices] = splits_[program.stage];
    if (strategies == nullptr) {
      return layout_.parameters
          .try_emplace(key, input.batch_dim.has_value()
                                ? SplitAlong(shape, *input.batch_dim, *mesh)
                                : Sharding::Replicated(shape.dimensions))
          .first->second;
    }
    if (input.batch_dim.has_value()) {
      return layout_.parameters
          .try_emplace(key, strategies->PartOf(input.index))
          .first->second;
    }
    const Sharding at_rest = strategies->AtRest(input.index);
    const Sharding at_work = strategies->AtWork(input.index);
    if (program.kind == StageProgram::Kind::kApply) {
      return layout_.parameters.try_emplace(key, at_rest).first->second;
    }
    if (is_state_.contains(input.index) &&
        program.stage == step_.homes[input.index] && at_rest != at_work) {
      layout_.parameters.try_emplace(key, at_rest);
      return layout_.at_work.try_emplace(key, at_work).first->second;
    }
    return layout_.parameters.try_emplace(key, at_work).first->second;
  }

  Sharding AccumulatorSharding(int64_t index, StageId stage) {
    const auto [entry, is_new] =
        layout_.accumulators.try_emplace({index, stage}, Sharding());
    if (is_new) entry->second = NewAccumulator(index, stage);
    return entry->second;
  }

  // As it is computed; a partial sum only if that is possible.
  Sharding NewAccumulator(int64_t index, StageId stage) const {
    const StageAccumulator& accumulator = step_.accumulators[index];
    const std::vector<int64_t>& dimensions = accumulator.shape.dimensions;
    const StageStrategies* strategies = splits_[stage].strategies;
    std::optional<Sharding> made;
    if (strategies != nullptr && made_by_[index] != nullptr) {
      made = strategies->Result(*made_by_[index]);
      // A sum that a stage added: the sharding of its terms.
      for (const Instruction* operand : made_by_[index]->operands) {
        if (!made.has_value()) made = strategies->Result(*operand);
      }
    }
    if (!made.has_value()) return Sharding::Replicated(dimensions);
    const Mesh& mesh = layout_.meshes[stage];
    const Rule rule = PointwiseRule(dimensions, 0);
    Sharding sharding = ResultSharding(
        rule, StrategyFor(rule, rule.results[0], *made, mesh), 0, mesh);
    if (stays_[index] && made->reduction == accumulator.reduction) {
      sharding.pending = made->pending;
      sharding.reduction = made->reduction;
    }
    return sharding;
  }

  // Accumulators and state keep their shardings.
  std::optional<Annotation> ResultPin(const StageProgram& program,
                                      const StageValue& value, int32_t number) {
    if (value.accumulator.has_value()) {
      Sharding sharding =
          AccumulatorSharding(*value.accumulator, program.stage);
      // The initial value of a partial sum is zero on every device.
      return program.kind == StageProgram::Kind::kStart
                 ? Completed(std::move(sharding))
                 : sharding;
    }
    const auto state = state_of_.find(number);
    if (state == state_of_.end()) return std::nullopt;
    return ParameterSharding(
        {.kind = StageInput::Kind::kParameter, .index = state->second}, program,
        value.shape);
  }

  const StagedStep& step_;
  const std::vector<StageSplit>& splits_;   // By stage.
  absl::flat_hash_set<int64_t> is_output_;  // Of values.
  absl::flat_hash_set<int64_t> is_state_;   // Of parameters.
  // By value: the parameter whose next value it is.
  absl::flat_hash_map<int64_t, int64_t> state_of_;
  // By accumulator: whether nothing of it is used on other stages; and the
  // instruction that computes its next value.
  std::vector<bool> stays_;
  std::vector<const Instruction*> made_by_;
  DropoutTies ties_;
  StagedLayout layout_;
};

}  // namespace

absl::StatusOr<StagedLayout> LayOutStages(const StagedStep& step,
                                          const std::vector<Mesh>& meshes) {
  const Prices prices;
  std::vector<StageSplit> splits;
  for (const Mesh& mesh : meshes) splits.push_back({&mesh, nullptr, &prices});
  return Layouter(step, splits).Run();
}

absl::StatusOr<StagedLayout> LayOutStages(
    const StagedStep& step, const std::vector<StageSplit>& splits) {
  return Layouter(step, splits).Run();
}

}  // namespace meshwright
