#include "meshwright/runtime/step_runner.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/expand/expand.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/collective_options.h"
#include "meshwright/runtime/synthetic_inputs.h"

namespace meshwright {
namespace {

// PJRT passes flat lists of arrays in and out.
absl::Status CheckSignature(const Module& module) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (!parameter->shape.IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter ", parameter->name, " is ", parameter->shape.ToString(),
          "; a step that runs takes arrays only"));
    }
  }
  const Shape& result = module.entry()->root()->shape;
  for (const Shape& element : result.tuple_shapes) {
    if (element.IsTuple()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the result ", result.ToString(),
                       " nests tuples; a step that runs returns a flat one"));
    }
  }
  return absl::OkStatus();
}

ShardedStep OnOneDevice(const Module& module) {
  ShardedStep step = {module, Mesh::Create({}).value(), {}, {}};
  for (const Instruction* parameter : module.entry()->Parameters()) {
    step.parameters.push_back(
        Sharding::Replicated(parameter->shape.dimensions));
  }
  for (const Shape* leaf : Leaves(module.entry()->root()->shape)) {
    step.outputs.push_back(Sharding::Replicated(leaf->dimensions));
  }
  return step;
}

std::vector<const Shape*> ParameterShapes(const Module& module) {
  std::vector<const Shape*> shapes;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    shapes.push_back(&parameter->shape);
  }
  return shapes;
}

// The program's arrays are the shards of the module's.
absl::Status CheckShards(absl::string_view what,
                         const std::vector<const Shape*>& whole,
                         const std::vector<const Shape*>& local,
                         const std::vector<Sharding>& shardings,
                         const Mesh& mesh) {
  if (whole.size() != local.size() || whole.size() != shardings.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the step has ", whole.size(), " ", what, "s, the program ",
        local.size(), ", with ", shardings.size(), " shardings"));
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    absl::Status status = CheckSharding(shardings[i], whole[i]->dimensions,
                                        mesh, /*allow_uneven=*/true);
    const Shape expected = Shape::Array(whole[i]->element_type,
                                        LocalDimensions(shardings[i], mesh));
    if (status.ok() && shardings[i].IsPending()) {
      status = absl::InvalidArgumentError("is a pending partial value");
    }
    if (status.ok() && !Compatible(expected, *local[i])) {
      status = absl::InvalidArgumentError(
          absl::StrCat("is ", local[i]->ToString(), " in the program; the ",
                       "shards are ", expected.ToString()));
    }
    if (!status.ok()) return Annotate(status, absl::StrCat(what, " ", i));
  }
  return absl::OkStatus();
}

absl::Status CheckFits(const Module& module, const ShardedStep& step) {
  MW_RETURN_IF_ERROR(CheckShards("parameter", ParameterShapes(module),
                                 ParameterShapes(step.program), step.parameters,
                                 step.mesh));
  return CheckShards("output", Leaves(module.entry()->root()->shape),
                     Leaves(step.program.entry()->root()->shape), step.outputs,
                     step.mesh);
}

// What comes out as the next value must lie as it went in.
absl::Status CheckState(const ModuleRoles& roles, const ShardedStep& step) {
  for (const StatePair& pair : roles.state_pairs) {
    const Sharding& in = step.parameters[pair.parameter];
    const Sharding& out = step.outputs[pair.output];
    if (in == out) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(roles.parameters[pair.parameter].name, " goes in as ",
                     ToString(in, step.mesh), " and comes out as ",
                     ToString(out, step.mesh)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> WriteProgram(absl::string_view platform,
                                         const Module& program) {
  if (!HasKernels(program)) return WriteModuleFor(platform, program);
  Module copy = InlineCalls(program);
  KernelsToCalls(copy);
  copy.Finish();
  return WriteModuleFor(platform, copy);
}

absl::StatusOr<std::unique_ptr<Executable>> CompileStep(
    const ShardedStep& step, Client* client, OptionMap xla_overrides) {
  const int64_t count = step.mesh.device_count();
  if (std::ssize(client->devices()) < count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the mesh ", step.mesh.ToString(), " needs ", count, " devices, ",
        client->platform_name(), " has ", client->devices().size()));
  }
  MW_ASSIGN_OR_RETURN(std::string code,
                      WriteProgram(client->platform_name(), step.program));
  CompileOptions options;
  options.num_replicas = static_cast<int>(count);
  for (int64_t device = 0; device < count; ++device) {
    options.device_ids.push_back(client->devices()[device]->id());
  }
  options.xla_overrides = std::move(xla_overrides);
  if (step.mesh.device_count() > 1) {
    options.xla_overrides.merge(CollectivesAsWritten(client->platform_name()));
  }
  return client->Compile({.format = "hlo", .code = std::move(code)}, options);
}

}  // namespace

StepRunner::StepRunner(const Module& module, ShardedStep step, Client* client)
    : module_(module),
      step_(std::move(step)),
      client_(client),
      roles_(AnalyzeRoles(module)) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    shapes_.push_back(parameter->shape);
  }
  arguments_.resize(shapes_.size());
}

absl::StatusOr<std::unique_ptr<StepRunner>> StepRunner::Create(
    const Module& module, Client* client, OptionMap xla_overrides) {
  if (const auto islands = IslandsIn(module); !islands.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        RegionName(*islands[0]), " does not run on one device; give --mesh ",
        IslandMeshes(module)[0].ToString(), ", or a plan"));
  }
  return CreateSharded(module, OnOneDevice(module), client,
                       std::move(xla_overrides));
}

absl::StatusOr<std::unique_ptr<StepRunner>> StepRunner::CreateSharded(
    const Module& module, ShardedStep step, Client* client,
    OptionMap xla_overrides) {
  MW_RETURN_IF_ERROR(CheckSignature(module));
  MW_RETURN_IF_ERROR(CheckFits(module, step));
  std::unique_ptr<StepRunner> runner(
      new StepRunner(module, std::move(step), client));
  MW_RETURN_IF_ERROR(CheckState(runner->roles_, runner->step_));
  MW_ASSIGN_OR_RETURN(
      runner->executable_,
      CompileStep(runner->step_, client, std::move(xla_overrides)));
  return runner;
}

absl::Status StepRunner::SetParameter(int64_t number, Tensor tensor) {
  MW_RETURN_IF_ERROR(Conform(shapes_[number], tensor));
  arguments_[number].clear();
  MW_ASSIGN_OR_RETURN(
      arguments_[number],
      Upload(std::move(tensor), step_.parameters[number],
             {client_, step_.mesh, client_->devices()}, step_.padding));
  return absl::OkStatus();
}

absl::Status StepRunner::FillSynthetic(uint64_t seed) {
  return ForEachSynthetic(module_, roles_, seed,
                          [this](int64_t number, Tensor tensor) {
                            return SetParameter(number, std::move(tensor));
                          });
}

absl::Status StepRunner::Set(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    MW_ASSIGN_OR_RETURN(const int64_t number,
                        FindParameter(roles_, tensor.name));
    MW_RETURN_IF_ERROR(SetParameter(number, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> StepRunner::Step() {
  const int64_t devices = step_.mesh.device_count();
  std::vector<std::vector<Buffer*>> arguments(devices);
  for (size_t number = 0; number < arguments_.size(); ++number) {
    if (arguments_[number].empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "parameter \"", roles_.parameters[number].name, "\" has no value"));
    }
    for (int64_t device = 0; device < devices; ++device) {
      arguments[device].push_back(arguments_[number][device].get());
    }
  }
  outputs_.clear();
  const std::vector<absl::Span<Buffer* const>> spans(arguments.begin(),
                                                     arguments.end());
  const Stopwatch step_time;
  MW_ASSIGN_OR_RETURN(Execution run, executable_->Execute(spans));
  MW_RETURN_IF_ERROR(AwaitAll(run.done));
  StepResult result;
  result.seconds = step_time.seconds();
  outputs_.resize(run.outputs[0].size());
  for (size_t output = 0; output < outputs_.size(); ++output) {
    for (int64_t device = 0; device < devices; ++device) {
      outputs_[output].push_back(std::move(run.outputs[device][output]));
    }
  }
  if (roles_.loss.has_value()) {
    MW_ASSIGN_OR_RETURN(result.loss, ReadScalar(*outputs_[*roles_.loss][0]));
  }
  for (const StatePair& pair : roles_.state_pairs) {
    arguments_[pair.parameter] = std::move(outputs_[pair.output]);
    outputs_[pair.output].clear();
  }
  return result;
}

absl::StatusOr<double> StepRunner::ReadScalar(const Buffer& buffer) const {
  Literal literal;
  literal.shape = Shape::Array(buffer.shape().type, buffer.shape().dimensions);
  literal.data.resize(buffer.shape().host_bytes());
  MW_RETURN_IF_ERROR(
      buffer.ReadToHost({reinterpret_cast<std::byte*>(literal.data.data()),
                         literal.data.size()}));
  return literal.ElementAsDouble(0);
}

absl::StatusOr<std::vector<Tensor>> StepRunner::ReadState() const {
  std::vector<Tensor> state;
  for (const StatePair& pair : roles_.state_pairs) {
    const ShardedArray& array = arguments_[pair.parameter];
    const std::string& name = roles_.parameters[pair.parameter].name;
    if (array.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter \"", name, "\" has no value"));
    }
    MW_ASSIGN_OR_RETURN(
        state.emplace_back(),
        Download(array, step_.parameters[pair.parameter], step_.mesh));
    state.back().name = name;
  }
  return state;
}

std::vector<const ShardedArray*> StepRunner::OutputArrays() const {
  std::vector<const ShardedArray*> arrays;
  for (const ShardedArray& output : outputs_) arrays.push_back(&output);
  if (arrays.empty()) return arrays;
  for (const StatePair& pair : roles_.state_pairs) {
    arrays[pair.output] = &arguments_[pair.parameter];
  }
  return arrays;
}

absl::StatusOr<std::vector<Tensor>> StepRunner::ReadOutputs() const {
  const std::vector<const ShardedArray*> arrays = OutputArrays();
  if (arrays.size() != step_.outputs.size()) {
    return absl::FailedPreconditionError("no step has run");
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    MW_ASSIGN_OR_RETURN(outputs.emplace_back(),
                        Download(*arrays[i], step_.outputs[i], step_.mesh));
    outputs.back().name = roles_.outputs[i].name;
  }
  return outputs;
}

absl::Status StepRunner::CheckOutputCopies() const {
  const std::vector<const ShardedArray*> arrays = OutputArrays();
  for (size_t i = 0; i < arrays.size(); ++i) {
    MW_RETURN_IF_ERROR(
        Annotate(CheckCopies(*arrays[i], step_.outputs[i], step_.mesh),
                 roles_.outputs[i].name));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
