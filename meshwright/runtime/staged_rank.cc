#include "meshwright/runtime/staged_rank.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Key = ParcelKey;
using ProgramKind = StageProgram::Kind;

// Bytes on one of the devices.
int64_t BytesOf(const OwnArray& array) {
  return static_cast<int64_t>(array[0]->shape().host_bytes());
}

}  // namespace

absl::Status StagedRank::Run(const std::vector<Action>& row) {
  MW_RETURN_IF_ERROR(PrepareState());
  for (const StageId stage : stages_) {
    MW_RETURN_IF_ERROR(RunKind(ProgramKind::kStart, stage, 0));
  }
  std::vector<Action> actions;
  for (const Action& action : row) {
    if (IsTransfer(action.kind) || action.kind == ActionKind::kApply) continue;
    actions.push_back(action);
  }
  for (size_t i = 0; i < actions.size(); ++i) {
    // What the next action needs may arrive while this one runs.
    if (i == 0) Expect(actions[0]);
    if (i + 1 < actions.size()) Expect(actions[i + 1]);
    MW_RETURN_IF_ERROR(RunAction(actions[i]));
  }
  MW_RETURN_IF_ERROR(SendAccumulators());
  // The apply programs run in rounds, in the order of the list, which is the
  // same on every rank.
  const std::vector<StageProgram>& programs = programs_.job.step.programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    const StageProgram& program = programs[i];
    if (program.kind != ProgramKind::kApply ||
        !std::ranges::count(stages_, program.stage)) {
      continue;
    }
    Log(program.Name());
    began_.reset();
    MW_RETURN_IF_ERROR(RunProgram(ProgramId(i), 0));
    record_.actions.push_back(
        {.action = {.stage = program.stage, .kind = ActionKind::kApply},
         .begin = *began_,
         .end = clock_.seconds()});
  }
  return absl::OkStatus();
}

absl::Status StagedRank::Await() {
  if (started_.empty()) return absl::OkStatus();
  for (const Started& one : std::exchange(started_, {})) {
    MW_RETURN_IF_ERROR(ErrorOf(programs_.job, one.program, AwaitAll(one.done)));
  }
  // Several devices, or the programs of one step, end together as far as
  // anyone can tell without waiting for each.
  if (!awaits_) {
    for (TimedAction& action : record_.actions) action.end = clock_.seconds();
  }
  return absl::OkStatus();
}

absl::Status StagedRank::PrepareState() {
  const Job& job = programs_.job;
  const auto is_own = [&](StageId stage) {
    return std::ranges::count(stages_, stage) > 0;
  };
  for (const auto& [key, sharding] : job.layout.parameters) {
    const auto& [number, stage] = key;
    const StageId home = job.step.homes[number];
    if (!job.parameters[number].is_state || stage == home || !is_own(home)) {
      continue;
    }
    MW_RETURN_IF_ERROR(courier_.Send(
        {.kind = Key::Kind::kParameter, .index = number, .stage = stage},
        inputs_.parameters.at({number, home})[0]));
  }
  for (const auto& [key, sharding] : job.layout.parameters) {
    const auto& [number, stage] = key;
    if (!job.parameters[number].is_state || stage == job.step.homes[number] ||
        !is_own(stage)) {
      continue;
    }
    MW_ASSIGN_OR_RETURN(copies_[key], Receive({.kind = Key::Kind::kParameter,
                                               .index = number,
                                               .stage = stage}));
  }
  for (const auto& [key, sharding] : job.layout.at_work) {
    if (!is_own(key.second)) continue;
    const auto copy = copies_.find(key);
    MW_RETURN_IF_ERROR(courier_.Send(
        {.kind = Key::Kind::kAtWork, .index = key.first, .stage = key.second},
        copy != copies_.end() ? copy->second : inputs_.parameters.at(key)[0]));
  }
  for (const auto& [key, sharding] : job.layout.at_work) {
    if (!is_own(key.second)) continue;
    MW_ASSIGN_OR_RETURN(at_work_[key], Receive({.kind = Key::Kind::kAtWork,
                                                .index = key.first,
                                                .stage = key.second}));
  }
  record_.received.clear();
  return absl::OkStatus();
}

void StagedRank::Expect(const Action& action) {
  const StagedStep& step = programs_.job.step;
  for (const StageProgram& program : step.programs) {
    const bool is_run = program.stage == action.stage &&
                        (action.kind == ActionKind::kForward
                             ? program.kind == ProgramKind::kForward
                         : action.kind == ActionKind::kWeightGrad
                             ? program.kind == ProgramKind::kWeight
                             : program.kind == ProgramKind::kInput ||
                                   (action.kind == ActionKind::kBackward &&
                                    program.kind == ProgramKind::kWeight));
    if (!is_run) continue;
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kValue) continue;
      const int32_t from =
          step.programs[step.values[input.index].program].stage;
      const std::tuple key = {input.index, action.stage,
                              int64_t{action.micro_batch}};
      if (from == action.stage || values_.contains(key) ||
          !expected_.insert(key).second) {
        continue;
      }
      courier_.Expect({.index = input.index,
                       .micro_batch = action.micro_batch,
                       .stage = action.stage});
    }
  }
}

void StagedRank::Log(const std::string& what) {
  if (log_ != nullptr) {
    log_->Add(absl::StrCat("step ", courier_.step(), " ", what));
  }
}

absl::Status StagedRank::RunAction(const Action& action) {
  if (log_ != nullptr) Log(ToString(action));
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
absl::Status StagedRank::RunKind(ProgramKind kind, StageId stage,
                                 int64_t micro_batch) {
  const std::vector<StageProgram>& programs = programs_.job.step.programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    if (programs[i].kind == kind && programs[i].stage == stage) {
      return RunProgram(ProgramId(i), micro_batch);
    }
  }
  return absl::OkStatus();
}

absl::Status StagedRank::RunProgram(ProgramId number, int64_t micro_batch) {
  const StageProgram& program = programs_.job.step.programs[number];
  std::vector<SharedArray> arrays;  // Alive until the program has run.
  const size_t devices = programs_.own[program.stage].size();
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
  if (!run.ok()) return ErrorOf(programs_.job, number, run.status());
  started_.push_back({number, std::move(run->done)});
  if (awaits_) MW_RETURN_IF_ERROR(Await());
  for (size_t i = 0; i < program.results.size(); ++i) {
    auto array = std::make_shared<OwnArray>();
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
  const StageId stage = program.stage;
  switch (input.kind) {
    case StageInput::Kind::kMicroBatch:
      return inputs_.numbers[stage][micro_batch];
    case StageInput::Kind::kParameter:
      if (program.kind != StageProgram::Kind::kApply) {
        const auto found = at_work_.find({input.index, stage});
        if (found != at_work_.end()) return found->second;
      }
      if (const auto copy = copies_.find({input.index, stage});
          copy != copies_.end()) {
        return copy->second;
      }
      return inputs_.parameters.at(
          {input.index, stage})[input.batch_dim.has_value() ? micro_batch : 0];
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

absl::StatusOr<SharedArray> StagedRank::Value(int64_t value, StageId stage,
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

void StagedRank::Hold(int64_t value, StageId stage, int64_t micro_batch,
                      SharedArray array) {
  held_bytes_ += BytesOf(*array);
  values_[{value, stage, micro_batch}] = {std::move(array),
                                          UsesOn(value, stage)};
}

absl::StatusOr<SharedArray> StagedRank::Receive(const Key& key) {
  MW_ASSIGN_OR_RETURN(const Courier::Delivery delivery, courier_.Receive(key));
  record_.wire_seconds += delivery.waited;
  const bool is_forward = delivery.from < key.stage;
  record_.received.push_back(
      {.send = {.stage = delivery.from,
                .kind = is_forward ? ActionKind::kSendForward
                                   : ActionKind::kSendBackward,
                .micro_batch = static_cast<int>(key.micro_batch),
                .peer = key.stage},
       .begin = delivery.sent_at,
       .end = delivery.there_at,
       .bytes = BytesOf(*delivery.array) * std::ssize(*delivery.array)});
  return delivery.array;
}

int64_t StagedRank::UsesOn(int64_t value, StageId stage) const {
  return std::ranges::count_if(
      programs_.job.step.values[value].users, [&](ProgramId user) {
        return programs_.job.step.programs[user].stage == stage;
      });
}

// Keeps the value if this stage uses it, and sends it to other stages that do.
absl::Status StagedRank::Deliver(int32_t value, SharedArray array,
                                 int64_t micro_batch) {
  const StagedStep& step = programs_.job.step;
  const StageValue& made = step.values[value];
  const StageId stage = step.programs[made.program].stage;
  if (made.accumulator.has_value()) {
    accumulators_[{*made.accumulator, stage}] = std::move(array);
    return absl::OkStatus();
  }
  std::set<StageId> stages;
  for (const ProgramId user : made.users) {
    stages.insert(step.programs[user].stage);
  }
  for (const StageId to : stages) {
    if (to == stage) {
      Hold(value, stage, micro_batch, array);
      continue;
    }
    MW_RETURN_IF_ERROR(courier_.Send(
        {.index = value, .micro_batch = micro_batch, .stage = to}, array));
  }
  for (const StageInput& output : step.outputs) {
    if (output.kind == StageInput::Kind::kValue && output.index == value) {
      outputs_[value] = array;
    }
  }
  return absl::OkStatus();
}

// Sends accumulated gradients to the stages that apply them.
absl::Status StagedRank::SendAccumulators() {
  const StagedStep& step = programs_.job.step;
  std::set<std::pair<int64_t, StageId>> sent;
  for (const StageProgram& program : step.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kAccumulator) continue;
      const StageId stage = step.accumulators[input.index].stage;
      if (stage == program.stage || !std::ranges::count(stages_, stage) ||
          !sent.insert({input.index, program.stage}).second) {
        continue;
      }
      MW_RETURN_IF_ERROR(courier_.Send({.kind = Key::Kind::kAccumulator,
                                        .index = input.index,
                                        .stage = program.stage},
                                       accumulators_.at({input.index, stage})));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
