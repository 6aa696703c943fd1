#include "meshwright/engine/fake_executable.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"
#include "meshwright/engine/fake_buffer.h"

namespace meshwright {
namespace {

using Storages = std::vector<std::vector<FakeStoragePtr>>;

bool IsDonated(const ProgramSignature::Donation& donation,
               const ExecuteOptions& options) {
  return std::find(options.non_donatable.begin(), options.non_donatable.end(),
                   donation.parameter) == options.non_donatable.end();
}

absl::Status InputStatus(const Storages& inputs) {
  absl::Status status;
  for (const auto& list : inputs) {
    for (const FakeStoragePtr& input : list) status.Update(input->status);
  }
  return status;
}

// Calls the function on its own arrays, so that outputs that reuse an input's
// memory cannot disturb it.
absl::Status Run(const FakeFunction& function, const Storages& inputs,
                 const Storages& outputs) {
  MW_RETURN_IF_ERROR(InputStatus(inputs));
  FakeCall call;
  for (const auto& list : inputs) {
    auto& spans = call.inputs.emplace_back();
    for (const FakeStoragePtr& input : list) spans.push_back(input->bytes);
  }
  std::vector<std::vector<std::vector<std::byte>>> results(outputs.size());
  for (size_t d = 0; d < outputs.size(); ++d) {
    auto& spans = call.outputs.emplace_back();
    results[d].resize(outputs[d].size());
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      results[d][i].resize(outputs[d][i]->bytes.size());
      spans.push_back(absl::MakeSpan(results[d][i]));
    }
  }
  MW_RETURN_IF_ERROR(function.run(call));
  for (size_t d = 0; d < outputs.size(); ++d) {
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      std::copy(results[d][i].begin(), results[d][i].end(),
                outputs[d][i]->bytes.begin());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FakeExecutable::Storages> FakeExecutable::AllocateOutputs(
    const Storages& inputs, const ExecuteOptions& options) const {
  Storages outputs(devices_.size());
  for (size_t d = 0; d < devices_.size(); ++d) {
    outputs[d].resize(signature().outputs.size());
    for (const auto& donation : signature().donations) {
      if (donation.output >= 0 && IsDonated(donation, options)) {
        outputs[d][donation.output] = inputs[d][donation.parameter];
      }
    }
    const auto* device = static_cast<const FakeDevice*>(devices_[d]);
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      if (outputs[d][i] != nullptr) continue;
      MW_ASSIGN_OR_RETURN(
          outputs[d][i], device->Allocate(signature().outputs[i].host_bytes()));
    }
  }
  return outputs;
}

absl::StatusOr<Execution> FakeExecutable::Execute(
    absl::Span<const absl::Span<Buffer* const>> arguments,
    const ExecuteOptions& options) {
  MW_RETURN_IF_ERROR(CheckArguments(signature(), devices_, arguments, options));
  MW_RETURN_IF_ERROR(session_->Reach(FakeFault::Point::kExecute));
  const absl::Status fault = session_->Reach(FakeFault::Point::kRun);
  Storages inputs(devices_.size());
  for (size_t d = 0; d < devices_.size(); ++d) {
    for (const Buffer* buffer : arguments[d]) {
      MW_ASSIGN_OR_RETURN(FakeStoragePtr input,
                          static_cast<const FakeBuffer*>(buffer)->Storage());
      inputs[d].push_back(std::move(input));
    }
  }
  MW_ASSIGN_OR_RETURN(const Storages outputs, AllocateOutputs(inputs, options));
  for (const auto& donation : signature().donations) {
    if (!IsDonated(donation, options)) continue;
    for (const auto& list : arguments) list[donation.parameter]->Delete();
  }

  // One task runs all devices; the events of the others repeat its status.
  Execution execution;
  auto answer = std::make_shared<absl::Status>();
  execution.done.push_back(session_->stream().Enqueue(
      [function = function_, inputs = std::move(inputs), outputs, fault,
       answer] {
        *answer = fault.ok() ? Run(*function, inputs, outputs) : fault;
        for (const auto& list : outputs) {
          for (const FakeStoragePtr& output : list) output->status = *answer;
        }
        return *answer;
      }));
  while (execution.done.size() < devices_.size()) {
    execution.done.push_back(
        session_->stream().Enqueue([answer] { return *answer; }));
  }
  for (size_t d = 0; d < devices_.size(); ++d) {
    auto& list = execution.outputs.emplace_back();
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      list.push_back(std::make_unique<FakeBuffer>(
          session_, outputs[d][i], static_cast<const FakeDevice*>(devices_[d]),
          signature().outputs[i]));
    }
  }
  return execution;
}

absl::StatusOr<ProgramMemory> FakeExecutable::Memory() const {
  ProgramMemory memory;
  for (const BufferShape& shape : signature().parameters) {
    memory.argument_bytes += shape.host_bytes();
  }
  for (const BufferShape& shape : signature().outputs) {
    memory.output_bytes += shape.host_bytes();
  }
  for (const auto& donation : signature().donations) {
    if (donation.output < 0) continue;
    memory.alias_bytes += signature().outputs[donation.output].host_bytes();
  }
  return memory;
}

absl::StatusOr<Program> FakeExecutable::OptimizedProgram() const {
  return Program{.format = "fake", .code = name_};
}

}  // namespace meshwright
