#include "meshwright/engine/pjrt_executable.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/check_use.h"
#include "meshwright/engine/pjrt_buffer.h"
#include "meshwright/engine/program_signature.h"

namespace meshwright {
namespace {

// Stack space for the arguments of a step of ordinary size.
template <typename T>
using Scratch = absl::InlinedVector<T, 256>;

}  // namespace

absl::StatusOr<std::unique_ptr<PjrtExecutable>> PjrtExecutable::Create(
    std::shared_ptr<const PjrtSession> session,
    PjrtHandle<PJRT_LoadedExecutable> loaded) {
  std::unique_ptr<PjrtExecutable> executable(
      new PjrtExecutable(std::move(session), std::move(loaded)));
  MW_RETURN_IF_ERROR(executable->ReadExecutable());
  MW_RETURN_IF_ERROR(executable->ReadDevices());
  MW_RETURN_IF_ERROR(executable->ReadProgramSignature());
  return executable;
}

absl::Status PjrtExecutable::ReadExecutable() {
  auto get = NewPjrtArgs<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded_.get();
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_LoadedExecutable_GetExecutable), get));
  executable_ = session_->Own(get.executable);

  auto name = NewPjrtArgs<PJRT_Executable_Name_Args>();
  name.executable = executable_.get();
  MW_RETURN_IF_ERROR(api().Call(MW_PJRT(PJRT_Executable_Name), name));
  name_.assign(name.executable_name, name.executable_name_size);
  return absl::OkStatus();
}

absl::Status PjrtExecutable::ReadDevices() {
  auto args = NewPjrtArgs<PJRT_LoadedExecutable_AddressableDevices_Args>();
  args.executable = loaded_.get();
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_LoadedExecutable_AddressableDevices), args));
  for (size_t i = 0; i < args.num_addressable_devices; ++i) {
    const Device* device = session_->Find(args.addressable_devices[i]);
    if (device == nullptr) {
      return absl::InternalError(
          "the program runs on a device that the client does not list");
    }
    devices_.push_back(device);
  }
  return absl::OkStatus();
}

// Only the optimised module has the types of the parameters.
absl::Status PjrtExecutable::ReadProgramSignature() {
  MW_ASSIGN_OR_RETURN(const Program program, OptimizedProgram());
  auto signature = ReadSignature(program);
  if (!signature.ok()) {
    return Annotate(signature.status(), absl::StrCat("program ", name_));
  }
  auto outputs = NewPjrtArgs<PJRT_Executable_NumOutputs_Args>();
  outputs.executable = executable_.get();
  MW_RETURN_IF_ERROR(api().Call(MW_PJRT(PJRT_Executable_NumOutputs), outputs));
  if (outputs.num_outputs != signature->outputs.size()) {
    return absl::InternalError(
        absl::StrCat("program ", name_, " has ", signature->outputs.size(),
                     " outputs, the plug-in counts ", outputs.num_outputs));
  }
  signature_ = std::make_shared<const ProgramSignature>(*std::move(signature));
  return absl::OkStatus();
}

absl::StatusOr<Execution> PjrtExecutable::Execute(
    absl::Span<const absl::Span<Buffer* const>> arguments,
    const ExecuteOptions& options) {
  MW_RETURN_IF_ERROR(CheckArguments(*signature_, devices_, arguments, options));
  const size_t device_count = devices_.size();
  const size_t argument_count = signature_->parameters.size();
  const size_t output_count = signature_->outputs.size();

  Scratch<PJRT_Buffer*> inputs;
  inputs.reserve(device_count * argument_count);
  for (const absl::Span<Buffer* const> list : arguments) {
    for (const Buffer* buffer : list) {
      // It is on one of our devices, so it is one of our buffers.
      inputs.push_back(static_cast<const PjrtBuffer*>(buffer)->handle());
    }
  }
  Scratch<PJRT_Buffer*> outputs(device_count * output_count, nullptr);
  Scratch<PJRT_Event*> done(device_count, nullptr);
  Scratch<PJRT_Buffer* const*> input_lists;
  Scratch<PJRT_Buffer**> output_lists;
  for (size_t d = 0; d < device_count; ++d) {
    input_lists.push_back(inputs.data() + d * argument_count);
    output_lists.push_back(outputs.data() + d * output_count);
  }

  auto execute = NewPjrtArgs<PJRT_ExecuteOptions>();
  execute.non_donatable_input_indices = options.non_donatable.data();
  execute.num_non_donatable_input_indices = options.non_donatable.size();
  auto args = NewPjrtArgs<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded_.get();
  args.options = &execute;
  args.argument_lists = input_lists.data();
  args.num_devices = device_count;
  args.num_args = argument_count;
  args.output_lists = output_lists.data();
  args.device_complete_events = done.data();
  MW_RETURN_IF_ERROR(api().Call(MW_PJRT(PJRT_LoadedExecutable_Execute), args));
  return TakeResults(outputs, done);
}

Execution PjrtExecutable::TakeResults(
    absl::Span<PJRT_Buffer* const> outputs,
    absl::Span<PJRT_Event* const> done) const {
  const size_t output_count = signature_->outputs.size();
  Execution execution;
  execution.outputs.resize(devices_.size());
  execution.done.reserve(devices_.size());
  for (size_t d = 0; d < devices_.size(); ++d) {
    const auto* device = static_cast<const PjrtDevice*>(devices_[d]);
    execution.outputs[d].reserve(output_count);
    for (size_t i = 0; i < output_count; ++i) {
      execution.outputs[d].push_back(std::make_unique<PjrtBuffer>(
          session_, session_->Own(outputs[d * output_count + i]), device,
          std::shared_ptr<const BufferShape>(signature_,
                                             &signature_->outputs[i])));
    }
    execution.done.push_back(std::make_unique<PjrtEvent>(session_, done[d]));
  }
  return execution;
}

absl::StatusOr<ProgramMemory> PjrtExecutable::Memory() const {
  auto args = NewPjrtArgs<PJRT_Executable_GetCompiledMemoryStats_Args>();
  args.executable = executable_.get();
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_Executable_GetCompiledMemoryStats), args));
  return ProgramMemory{.argument_bytes = args.argument_size_in_bytes,
                       .output_bytes = args.output_size_in_bytes,
                       .alias_bytes = args.alias_size_in_bytes,
                       .temporary_bytes = args.temp_size_in_bytes,
                       .code_bytes = args.generated_code_size_in_bytes};
}

absl::StatusOr<ProgramCost> PjrtExecutable::Cost() const {
  auto args = NewPjrtArgs<PJRT_Executable_GetCostAnalysis_Args>();
  args.executable = executable_.get();
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_Executable_GetCostAnalysis), args));
  ProgramCost cost;
  for (size_t i = 0; i < args.num_properties; ++i) {
    const PJRT_NamedValue& property = args.properties[i];
    if (property.type != PJRT_NamedValue_kFloat) continue;
    cost.properties.emplace(std::string(property.name, property.name_size),
                            property.float_value);
  }
  const auto read = [&cost](const char* name) {
    const auto found = cost.properties.find(name);
    return found == cost.properties.end() ? 0.0 : found->second;
  };
  cost.flops = read("flops");
  cost.bytes_accessed = read("bytes accessed");
  return cost;
}

absl::StatusOr<Program> PjrtExecutable::OptimizedProgram() const {
  auto program = NewPjrtArgs<PJRT_Program>();
  auto args = NewPjrtArgs<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = executable_.get();
  args.program = &program;
  // The first call returns the size, the second fills in the bytes.
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_Executable_OptimizedProgram), args));
  Program result;
  result.code.resize(program.code_size);
  program.code = result.code.data();
  MW_RETURN_IF_ERROR(
      api().Call(MW_PJRT(PJRT_Executable_OptimizedProgram), args));
  result.format.assign(program.format, program.format_size);
  return result;
}

absl::StatusOr<std::string> PjrtExecutable::Serialize() const {
  auto args = NewPjrtArgs<PJRT_Executable_Serialize_Args>();
  args.executable = executable_.get();
  MW_RETURN_IF_ERROR(api().Call(MW_PJRT(PJRT_Executable_Serialize), args));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

absl::StatusOr<std::string> PjrtExecutable::Fingerprint() const {
  auto args = NewPjrtArgs<PJRT_Executable_Fingerprint_Args>();
  args.executable = executable_.get();
  MW_RETURN_IF_ERROR(api().Call(MW_PJRT(PJRT_Executable_Fingerprint), args));
  return std::string(args.executable_fingerprint,
                     args.executable_fingerprint_size);
}

}  // namespace meshwright
