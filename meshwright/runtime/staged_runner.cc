#include "meshwright/runtime/staged_runner.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/expand/expand.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/runtime/collective_options.h"
#include "meshwright/runtime/synthetic_inputs.h"
#include "meshwright/schedule/stage_edges.h"
#include "meshwright/schedule/validate.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

using Key = StagedExchange::Key;

// Part `index` of `count` along a dimension.
Tensor PartOf(const Tensor& tensor, int64_t dimension, int64_t index,
              int64_t count) {
  const Mesh time = Mesh::Create({{"time", count}}).value();
  Sharding sharding = Sharding::Replicated(tensor.dimensions);
  sharding.dims[dimension] = {
      {tensor.dimensions[dimension], time.AllSubAxes()}};
  return Shard(tensor, sharding, time, index);
}

absl::StatusOr<std::unique_ptr<Executable>> CompileFor(
    const Module& module, const std::vector<const Device*>& devices,
    Client* client, const OptionMap& overrides) {
  MW_ASSIGN_OR_RETURN(std::string code,
                      WriteModuleFor(client->platform_name(), module));
  CompileOptions options;
  options.xla_overrides = overrides;
  options.num_replicas = static_cast<int>(devices.size());
  for (const Device* device : devices) {
    options.device_ids.push_back(device->id());
  }
  if (devices.size() > 1) {
    options.xla_overrides.merge(CollectivesAsWritten(client->platform_name()));
  }
  return client->Compile({.format = "hlo", .code = std::move(code)}, options);
}

absl::Status CheckTimetable(const Timetable& timetable,
                            const StagedStep& step) {
  if (timetable.stages() != step.stages ||
      timetable.micro_batches != step.micro_batches) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the timetable is for ", timetable.stages(), " stages and ",
        timetable.micro_batches, " micro-batches, the step has ", step.stages,
        " and ", step.micro_batches));
  }
  PipelineCosts costs = EvenCosts(step.stages, {});
  costs.edges = EdgesOf(step);
  return Validate(timetable, costs);
}

}  // namespace

StagedRunner::StagedRunner(const Module& module, const StagedStep& step,
                           Timetable timetable, Client* client)
    : module_(module),
      step_(step),
      timetable_(std::move(timetable)),
      roles_(AnalyzeRoles(module)),
      programs_{.step = step,
                .client = client,
                .mover = std::make_unique<TileMover>(client)} {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    shapes_.push_back(parameter->shape);
  }
}

absl::StatusOr<std::unique_ptr<StagedRunner>> StagedRunner::Create(
    const Module& module, const StagedStep& step, Timetable timetable,
    StagedLayout layout, Client* client, OptionMap xla_overrides) {
  MW_RETURN_IF_ERROR(CheckTimetable(timetable, step));
  std::unique_ptr<StagedRunner> runner(
      new StagedRunner(module, step, std::move(timetable), client));
  runner->programs_.layout = std::move(layout);
  MW_RETURN_IF_ERROR(runner->PlaceStages());
  MW_RETURN_IF_ERROR(runner->Compile(xla_overrides));
  runner->PlanRoutes();
  MW_RETURN_IF_ERROR(runner->UploadNumbers());
  return runner;
}

absl::Status StagedRunner::SetTimetable(Timetable timetable) {
  MW_RETURN_IF_ERROR(CheckTimetable(timetable, step_));
  if (timetable.rank_of_stage != timetable_.rank_of_stage) {
    return absl::InvalidArgumentError("the timetable moves stages");
  }
  timetable_ = std::move(timetable);
  return absl::OkStatus();
}

// Stages of one rank share its devices.
absl::Status StagedRunner::PlaceStages() {
  const std::vector<Mesh>& meshes = programs_.layout.meshes;
  Client* const client = programs_.client;
  std::vector<std::vector<const Device*>> devices_of(timetable_.ranks());
  size_t next = 0;
  for (int32_t stage = 0; stage < step_.stages; ++stage) {
    std::vector<const Device*>& devices =
        devices_of[timetable_.rank_of_stage[stage]];
    const auto count = static_cast<size_t>(meshes[stage].device_count());
    if (devices.empty()) {
      if (next + count > client->devices().size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the pipeline needs more than the ", client->devices().size(),
            " devices of ", client->platform_name()));
      }
      const auto first = client->devices().begin() + next;
      devices.assign(first, first + count);
      next += count;
    } else if (devices.size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", stage, " has ", count,
                       " devices, others on its rank ", devices.size()));
    }
    programs_.devices.push_back(devices);
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::Compile(const OptionMap& overrides) {
  // State that no program reads is kept all the same.
  for (const StageInput& output : step_.outputs) {
    if (output.kind != StageInput::Kind::kParameter) continue;
    programs_.layout.parameters.try_emplace(
        {output.index, step_.homes[output.index]},
        Sharding::Replicated(shapes_[output.index].dimensions));
  }
  for (size_t i = 0; i < step_.programs.size(); ++i) {
    const StageProgram& program = step_.programs[i];
    absl::StatusOr<std::unique_ptr<Executable>> compiled = CompileFor(
        programs_.layout.programs[i].module, programs_.devices[program.stage],
        programs_.client, overrides);
    if (!compiled.ok()) return Annotate(compiled.status(), program.Name());
    programs_.executables.push_back(*std::move(compiled));
  }
  return absl::OkStatus();
}

// Where each thing goes from the stage that has it.
void StagedRunner::PlanRoutes() {
  const StagedLayout& layout = programs_.layout;
  const auto add = [&](Key::Kind kind, const StageShardings& shardings,
                       const Shape& shape, int64_t index, int32_t from,
                       int32_t to) {
    const Key key{.kind = kind, .index = index, .stage = to};
    if (from == to || programs_.routes.contains(key)) return;
    const Sharding& there = shardings.at({index, to});
    programs_.routes[key] = {
        .list = MakeSendList(shardings.at({index, from}), layout.meshes[from],
                             there, layout.meshes[to]),
        .shape = Shape::Array(shape.element_type,
                              LocalDimensions(there, layout.meshes[to]))};
  };
  for (size_t i = 0; i < step_.values.size(); ++i) {
    const StageValue& value = step_.values[i];
    for (const int32_t user : value.users) {
      add(Key::Kind::kValue, layout.values, value.shape,
          static_cast<int64_t>(i), step_.programs[value.program].stage,
          step_.programs[user].stage);
    }
  }
  for (const StageProgram& program : step_.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kAccumulator) continue;
      const StageAccumulator& accumulator = step_.accumulators[input.index];
      add(Key::Kind::kAccumulator, layout.accumulators, accumulator.shape,
          input.index, accumulator.stage, program.stage);
    }
  }
  for (const auto& [key, sharding] : layout.parameters) {
    const auto& [number, stage] = key;
    if (roles_.parameters[number].role != ParameterRole::kState) continue;
    add(Key::Kind::kParameter, layout.parameters, shapes_[number], number,
        step_.homes[number], stage);
  }
  for (const auto& [key, sharding] : layout.at_work) {
    const Mesh& mesh = layout.meshes[key.second];
    programs_.routes[{
        .kind = Key::Kind::kAtWork, .index = key.first, .stage = key.second}] =
        {.list = MakeSendList(layout.parameters.at(key), mesh, sharding, mesh),
         .shape = Shape::Array(shapes_[key.first].element_type,
                               LocalDimensions(sharding, mesh))};
  }
}

absl::Status StagedRunner::UploadNumbers() {
  for (int32_t stage = 0; stage < step_.stages; ++stage) {
    std::vector<SharedArray>& numbers = inputs_.numbers.emplace_back();
    for (int64_t t = 0; t < step_.micro_batches; ++t) {
      const auto number = static_cast<int32_t>(t);
      Tensor tensor{
          .type = ElementType::kS32,
          .data = std::string(reinterpret_cast<const char*>(&number), 4)};
      MW_ASSIGN_OR_RETURN(ShardedArray array,
                          Upload(std::move(tensor), Sharding{},
                                 programs_.PlacementOf(stage), 0));
      numbers.push_back(std::make_shared<ShardedArray>(std::move(array)));
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::SetParameter(int64_t number, Tensor tensor) {
  MW_RETURN_IF_ERROR(Conform(shapes_[number], tensor));
  const bool is_state = roles_.parameters[number].role == ParameterRole::kState;
  for (const auto& [key, sharding] : programs_.layout.parameters) {
    const auto& [parameter, stage] = key;
    if (parameter != number) continue;
    if (is_state && stage != step_.homes[number]) continue;
    std::optional<int64_t> cut;
    for (const StageProgram& program : step_.programs) {
      for (const StageInput& input : program.inputs) {
        if (input.kind == StageInput::Kind::kParameter &&
            input.index == number && input.cut.has_value()) {
          cut = input.cut;
        }
      }
    }
    std::vector<SharedArray>& arrays = inputs_.parameters[key];
    arrays.clear();
    const int64_t count = cut.has_value() ? step_.micro_batches : 1;
    for (int64_t t = 0; t < count; ++t) {
      MW_ASSIGN_OR_RETURN(
          ShardedArray array,
          Upload(cut.has_value() ? PartOf(tensor, *cut, t, count) : tensor,
                 sharding, programs_.PlacementOf(stage), 0));
      arrays.push_back(std::make_shared<ShardedArray>(std::move(array)));
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::FillSynthetic(uint64_t seed) {
  return ForEachSynthetic(module_, roles_, seed,
                          [this](int64_t number, Tensor tensor) {
                            return SetParameter(number, std::move(tensor));
                          });
}

absl::Status StagedRunner::Set(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    MW_ASSIGN_OR_RETURN(const int64_t number,
                        FindParameter(roles_, tensor.name));
    MW_RETURN_IF_ERROR(SetParameter(number, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::CheckGiven() const {
  for (const auto& [key, sharding] : programs_.layout.parameters) {
    if (!inputs_.parameters.contains(key) &&
        (roles_.parameters[key.first].role != ParameterRole::kState ||
         key.second == step_.homes[key.first])) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter \"", roles_.parameters[key.first].name,
                       "\" has no value"));
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::SendState() {
  const StagedLayout& layout = programs_.layout;
  for (const auto& [key, sharding] : layout.parameters) {
    const auto& [number, stage] = key;
    const int32_t home = step_.homes[number];
    if (roles_.parameters[number].role != ParameterRole::kState ||
        stage == home) {
      continue;
    }
    MW_ASSIGN_OR_RETURN(
        SharedArray copy,
        programs_.Move(
            {.kind = Key::Kind::kParameter, .index = number, .stage = stage},
            *inputs_.parameters.at({number, home})[0]));
    inputs_.parameters[key] = {std::move(copy)};
  }
  for (const auto& [key, sharding] : layout.at_work) {
    MW_ASSIGN_OR_RETURN(inputs_.at_work[key],
                        programs_.Move({.kind = Key::Kind::kAtWork,
                                        .index = key.first,
                                        .stage = key.second},
                                       *inputs_.parameters.at(key)[0]));
  }
  return absl::OkStatus();
}

absl::Status StagedRunner::RunRanks() {
  const Stopwatch clock;
  StagedExchange exchange;
  const std::vector<std::vector<int>> stages =
      StagesByRank(timetable_.rank_of_stage, timetable_.ranks());
  std::vector<std::unique_ptr<StagedRank>> ranks;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < timetable_.ranks(); ++rank) {
    ranks.push_back(std::make_unique<StagedRank>(
        &programs_, &inputs_, &exchange,
        std::vector<int32_t>(stages[rank].begin(), stages[rank].end()),
        &clock));
    threads.emplace_back([&, rank, runs = ranks.back().get()] {
      const absl::Status status = runs->Run(timetable_.rows[rank]);
      if (!status.ok()) exchange.Stop(status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  MW_RETURN_IF_ERROR(exchange.error());
  execution_ = {.step_seconds = clock.seconds()};
  for (int rank = 0; rank < timetable_.ranks(); ++rank) {
    outputs_.merge(ranks[rank]->outputs());
    Record(rank, std::move(ranks[rank]->record()));
  }
  std::ranges::sort(execution_.transfers, {}, &TimedTransfer::begin);
  const double all = execution_.step_seconds * timetable_.ranks();
  execution_.bubble_share =
      1 - std::accumulate(execution_.busy_seconds.begin(),
                          execution_.busy_seconds.end(), 0.0) /
              all;
  return absl::OkStatus();
}

void StagedRunner::Record(int rank, StagedRank::Record record) {
  double busy = 0;
  for (const TimedAction& timed : record.actions) {
    busy += timed.end - timed.begin;
  }
  int64_t peak = 0;
  for (const MemoryPoint& point : record.memory) {
    peak = std::max(peak, point.bytes);
  }
  for (TimedTransfer& transfer : record.received) {
    transfer.from_rank = timetable_.rank_of_stage[transfer.send.stage];
    transfer.to_rank = rank;
    execution_.transfers.push_back(transfer);
  }
  execution_.busy_seconds.push_back(busy);
  execution_.peak_bytes.push_back(peak);
  execution_.rows.push_back(std::move(record.actions));
  execution_.memory.push_back(std::move(record.memory));
}

absl::StatusOr<StepResult> StagedRunner::Step() {
  MW_RETURN_IF_ERROR(CheckGiven());
  outputs_.clear();
  const Stopwatch step_time;
  MW_RETURN_IF_ERROR(SendState());
  MW_RETURN_IF_ERROR(RunRanks());
  inputs_.at_work.clear();
  StepResult result;
  result.seconds = step_time.seconds();
  for (const NextValue& next : step_.state) {
    const StageInput& output = step_.outputs[next.output];
    if (output.kind != StageInput::Kind::kValue) continue;
    inputs_.parameters[{next.parameter, step_.homes[next.parameter]}] = {
        outputs_.at(output.index)};
  }
  if (roles_.loss.has_value()) {
    MW_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, ReadOutputs());
    result.loss = AsLiteral(outputs[*roles_.loss]).ElementAsDouble(0);
  }
  return result;
}

absl::StatusOr<Tensor> StagedRunner::ReadParameter(int64_t number) const {
  const std::pair<int64_t, int32_t> key = {number, step_.homes[number]};
  const auto found = inputs_.parameters.find(key);
  if (found == inputs_.parameters.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "parameter \"", roles_.parameters[number].name, "\" has no value"));
  }
  return Download(*found->second[0], programs_.layout.parameters.at(key),
                  programs_.layout.meshes[key.second]);
}

absl::StatusOr<std::vector<Tensor>> StagedRunner::ReadState() const {
  std::vector<Tensor> state;
  for (const StatePair& pair : roles_.state_pairs) {
    MW_ASSIGN_OR_RETURN(state.emplace_back(), ReadParameter(pair.parameter));
    state.back().name = roles_.parameters[pair.parameter].name;
  }
  return state;
}

absl::StatusOr<std::vector<Tensor>> StagedRunner::ReadOutputs() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < step_.outputs.size(); ++i) {
    const StageInput& output = step_.outputs[i];
    if (output.kind == StageInput::Kind::kParameter) {
      MW_ASSIGN_OR_RETURN(outputs.emplace_back(), ReadParameter(output.index));
    } else {
      const auto found = outputs_.find(output.index);
      if (found == outputs_.end()) {
        return absl::FailedPreconditionError("no step has run");
      }
      const int32_t stage =
          step_.programs[step_.values[output.index].program].stage;
      MW_ASSIGN_OR_RETURN(
          outputs.emplace_back(),
          Download(*found->second,
                   programs_.layout.values.at({output.index, stage}),
                   programs_.layout.meshes[stage]));
    }
    outputs.back().name = roles_.outputs[i].name;
  }
  return outputs;
}

}  // namespace meshwright
