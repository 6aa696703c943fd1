#include "meshwright/runtime/staged_rank.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Key = StagedExchange::Key;
using ProgramKind = StageProgram::Kind;

// On one of the devices.
int64_t BytesOf(const ShardedArray& array) {
  return static_cast<int64_t>(array[0]->shape().host_bytes());
}

}  // namespace

absl::StatusOr<SharedArray> StagedPrograms::Move(
    const Key& key, const ShardedArray& array) const {
  Key any = key;
  any.micro_batch = 0;
  MW_ASSIGN_OR_RETURN(ShardedArray moved,
                      mover->Move(array, routes.at(any), devices[key.stage]));
  return std::make_shared<ShardedArray>(std::move(moved));
}

absl::Status StagedRank::Run(const std::vector<Action>& row) {
  for (const int32_t stage : stages_) {
    MW_RETURN_IF_ERROR(RunKind(ProgramKind::kStart, stage, 0));
  }
  for (const Action& action : row) {
    if (IsTransfer(action.kind) || action.kind == ActionKind::kApply) continue;
    MW_RETURN_IF_ERROR(RunAction(action));
  }
  MW_RETURN_IF_ERROR(SendAccumulators());
  // In rounds: in the order of the list, which is the same on every rank.
  const std::vector<StageProgram>& programs = programs_.step.programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    const StageProgram& program = programs[i];
    if (program.kind != ProgramKind::kApply ||
        !std::ranges::count(stages_, program.stage)) {
      continue;
    }
    began_.reset();
    MW_RETURN_IF_ERROR(RunProgram(static_cast<int32_t>(i), 0));
    record_.actions.push_back(
        {.action = {.stage = program.stage, .kind = ActionKind::kApply},
         .begin = *began_,
         .end = clock_.seconds()});
  }
  return absl::OkStatus();
}

absl::Status StagedRank::RunAction(const Action& action) {
  began_.reset();
  switch (action.kind) {
    case ActionKind::kForward:
      MW_RETURN_IF_ERROR(
          RunKind(ProgramKind::kForward, action.stage, action.micro_batch));
      break;
    case ActionKind::kInputGrad:
    case ActionKind::kBackward:
      MW_RETURN_IF_ERROR(
          RunKind(ProgramKind::kInput, action.stage, action.micro_batch));
      if (action.kind == ActionKind::kInputGrad) break;
      [[fallthrough]];
    case ActionKind::kWeightGrad:
      MW_RETURN_IF_ERROR(
          RunKind(ProgramKind::kWeight, action.stage, action.micro_batch));
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("cannot run ", ToString(action)));
  }
  const double end = clock_.seconds();
  record_.actions.push_back(
      {.action = action, .begin = began_.value_or(end), .end = end});
  record_.memory.push_back({.seconds = end, .bytes = held_bytes_});
  return absl::OkStatus();
}

// A stage may have no program of a kind.
absl::Status StagedRank::RunKind(ProgramKind kind, int32_t stage,
                                 int64_t micro_batch) {
  const std::vector<StageProgram>& programs = programs_.step.programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (programs[i].kind == kind && programs[i].stage == stage) {
      return RunProgram(static_cast<int32_t>(i), micro_batch);
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRank::RunProgram(int32_t number, int64_t micro_batch) {
  const StageProgram& program = programs_.step.programs[number];
  std::vector<SharedArray> arrays;  // Alive until the program has run.
  const size_t devices = programs_.devices[program.stage].size();
  std::vector<std::vector<Buffer*>> arguments(devices);
  for (const StageInput& input : program.inputs) {
    MW_ASSIGN_OR_RETURN(arrays.emplace_back(),
                        Input(input, program, micro_batch));
    for (size_t device = 0; device < devices; ++device) {
      arguments[device].push_back((*arrays.back())[device].get());
    }
  }
  if (!began_.has_value()) began_ = clock_.seconds();
  const std::vector<absl::Span<Buffer* const>> spans(arguments.begin(),
                                                     arguments.end());
  absl::StatusOr<Execution> run = programs_.executables[number]->Execute(spans);
  if (!run.ok()) return Annotate(run.status(), program.Name());
  MW_RETURN_IF_ERROR(Annotate(AwaitAll(run->done), program.Name()));
  for (size_t i = 0; i < program.results.size(); ++i) {
    auto array = std::make_shared<ShardedArray>();
    for (size_t device = 0; device < devices; ++device) {
      array->push_back(std::move(run->outputs[device][i]));
    }
    MW_RETURN_IF_ERROR(
        Deliver(program.results[i], std::move(array), micro_batch));
  }
  return absl::OkStatus();
}

absl::StatusOr<SharedArray> StagedRank::Input(const StageInput& input,
                                              const StageProgram& program,
                                              int64_t micro_batch) {
  const int32_t stage = program.stage;
  switch (input.kind) {
    case StageInput::Kind::kMicroBatch:
      return inputs_.numbers[stage][micro_batch];
    case StageInput::Kind::kParameter:
      if (program.kind != StageProgram::Kind::kApply) {
        const auto found = inputs_.at_work.find({input.index, stage});
        if (found != inputs_.at_work.end()) return found->second;
      }
      return inputs_.parameters.at(
          {input.index, stage})[input.cut.has_value() ? micro_batch : 0];
    case StageInput::Kind::kValue:
      return Value(input.index, stage, micro_batch);
    case StageInput::Kind::kAccumulator:
      break;
  }
  SharedArray& array = accumulators_[{input.index, stage}];
  if (array == nullptr) {
    MW_ASSIGN_OR_RETURN(array, Receive({.kind = Key::Kind::kAccumulator,
                                        .index = input.index,
                                        .stage = stage}));
  }
  return array;
}

absl::StatusOr<SharedArray> StagedRank::Value(int64_t value, int32_t stage,
                                              int64_t micro_batch) {
  const std::tuple key = {value, stage, micro_batch};
  if (!values_.contains(key)) {
    MW_ASSIGN_OR_RETURN(
        SharedArray array,
        Receive({.index = value, .micro_batch = micro_batch, .stage = stage}));
    Hold(value, stage, micro_batch, std::move(array));
  }
  const auto held = values_.find(key);
  SharedArray array = held->second.array;
  if (--held->second.uses == 0) {
    held_bytes_ -= BytesOf(*array);
    values_.erase(held);
  }
  return array;
}

void StagedRank::Hold(int64_t value, int32_t stage, int64_t micro_batch,
                      SharedArray array) {
  held_bytes_ += BytesOf(*array);
  values_[{value, stage, micro_batch}] = {std::move(array),
                                          UsesOn(value, stage)};
}

absl::StatusOr<SharedArray> StagedRank::Receive(const Key& key) {
  MW_ASSIGN_OR_RETURN(const StagedExchange::Parcel parcel, exchange_.Take(key));
  // Nobody watches a copy end; one that has when looked for is taken to have
  // ended when it was parked.
  double end = parcel.parked_at;
  for (const BufferPtr& buffer : *parcel.array) {
    MW_ASSIGN_OR_RETURN(const EventPtr ready, buffer->Ready());
    const bool was_ready = ready->IsReady();
    MW_RETURN_IF_ERROR(ready->Await());
    if (!was_ready) end = clock_.seconds();
  }
  const bool is_forward = parcel.from < key.stage;
  record_.received.push_back(
      {.send = {.stage = parcel.from,
                .kind = is_forward ? ActionKind::kSendForward
                                   : ActionKind::kSendBackward,
                .micro_batch = static_cast<int>(key.micro_batch),
                .peer = key.stage},
       .begin = parcel.sent_at,
       .end = end,
       .bytes = BytesOf(*parcel.array) * std::ssize(*parcel.array)});
  return parcel.array;
}

int64_t StagedRank::UsesOn(int64_t value, int32_t stage) const {
  return std::ranges::count_if(
      programs_.step.values[value].users, [&](int32_t user) {
        return programs_.step.programs[user].stage == stage;
      });
}

// Keeps what is used on this stage, sends what others use.
absl::Status StagedRank::Deliver(int32_t value, SharedArray array,
                                 int64_t micro_batch) {
  const StagedStep& step = programs_.step;
  const StageValue& made = step.values[value];
  const int32_t stage = step.programs[made.program].stage;
  if (made.accumulator.has_value()) {
    accumulators_[{*made.accumulator, stage}] = std::move(array);
    return absl::OkStatus();
  }
  std::set<int32_t> stages;
  for (const int32_t user : made.users) {
    stages.insert(step.programs[user].stage);
  }
  for (const int32_t to : stages) {
    if (to == stage) {
      Hold(value, stage, micro_batch, array);
      continue;
    }
    MW_RETURN_IF_ERROR(
        Send({.index = value, .micro_batch = micro_batch, .stage = to}, stage,
             *array));
  }
  for (const StageInput& output : step.outputs) {
    if (output.kind == StageInput::Kind::kValue && output.index == value) {
      outputs_[value] = array;
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRank::Send(const Key& key, int32_t from,
                              const ShardedArray& array) {
  const double now = clock_.seconds();
  MW_ASSIGN_OR_RETURN(SharedArray moved, programs_.Move(key, array));
  exchange_.Put(key, {std::move(moved), from, now, clock_.seconds()});
  return absl::OkStatus();
}

// To the stages that apply what was accumulated here.
absl::Status StagedRank::SendAccumulators() {
  const StagedStep& step = programs_.step;
  std::set<std::pair<int64_t, int32_t>> sent;
  for (const StageProgram& program : step.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kAccumulator) continue;
      const int32_t stage = step.accumulators[input.index].stage;
      if (stage == program.stage || !std::ranges::count(stages_, stage) ||
          !sent.insert({input.index, program.stage}).second) {
        continue;
      }
      MW_RETURN_IF_ERROR(Send({.kind = Key::Kind::kAccumulator,
                               .index = input.index,
                               .stage = program.stage},
                              stage, *accumulators_.at({input.index, stage})));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
