#include "meshwright/runtime/step_runner.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/write_module.h"
#include "meshwright/state/synthetic.h"

namespace meshwright {
namespace {

BufferShape ToBufferShape(const Shape& shape) {
  return {shape.element_type, shape.dimensions};
}

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

absl::StatusOr<std::unique_ptr<Executable>> CompileForOneDevice(
    const Module& module, Client* client, OptionMap xla_overrides) {
  MW_ASSIGN_OR_RETURN(std::string code, WriteModule(module));
  CompileOptions options;
  options.device_ids = {client->devices()[0]->id()};
  options.xla_overrides = std::move(xla_overrides);
  return client->Compile({.format = "hlo", .code = std::move(code)}, options);
}

}  // namespace

StepRunner::StepRunner(const Module& module, Client* client)
    : module_(module), client_(client), roles_(AnalyzeRoles(module)) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    shapes_.push_back(parameter->shape);
  }
  arguments_.resize(shapes_.size());
}

absl::StatusOr<std::unique_ptr<StepRunner>> StepRunner::Create(
    const Module& module, Client* client, OptionMap xla_overrides) {
  MW_RETURN_IF_ERROR(CheckSignature(module));
  std::unique_ptr<StepRunner> runner(new StepRunner(module, client));
  MW_ASSIGN_OR_RETURN(
      runner->executable_,
      CompileForOneDevice(module, client, std::move(xla_overrides)));
  return runner;
}

absl::Status StepRunner::SetParameter(int64_t number, Tensor tensor) {
  MW_RETURN_IF_ERROR(Conform(shapes_[number], tensor));
  const auto owner =
      std::make_shared<const std::string>(std::move(tensor.data));
  const HostArray array = {
      .bytes = {reinterpret_cast<const std::byte*>(owner->data()),
                owner->size()},
      .shape = ToBufferShape(shapes_[number]),
      .owner = owner};
  arguments_[number].reset();
  MW_ASSIGN_OR_RETURN(arguments_[number],
                      client_->FromHost(array, *client_->devices()[0]));
  return absl::OkStatus();
}

absl::Status StepRunner::FillSynthetic(uint64_t seed) {
  const std::map<int64_t, int64_t> bounds = IndexBounds(module_);
  const std::set<int64_t> non_negative = NonNegativeParameters(module_);
  for (int64_t number = 0; number < std::ssize(shapes_); ++number) {
    SyntheticOptions options;
    if (const auto bound = bounds.find(number); bound != bounds.end()) {
      options.bound = bound->second;
    }
    options.non_negative = non_negative.contains(number);
    MW_RETURN_IF_ERROR(SetParameter(
        number, MakeSynthetic(shapes_[number], roles_.parameters[number].name,
                              seed, options)));
  }
  return absl::OkStatus();
}

absl::Status StepRunner::Set(std::vector<Tensor> tensors) {
  std::map<absl::string_view, int64_t> numbers;
  for (int64_t number = 0; number < std::ssize(shapes_); ++number) {
    numbers.emplace(roles_.parameters[number].name, number);
  }
  for (Tensor& tensor : tensors) {
    const auto found = numbers.find(tensor.name);
    if (found == numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the module has no parameter \"", tensor.name,
                       "\"; `meshwright inspect` lists them"));
    }
    MW_RETURN_IF_ERROR(SetParameter(found->second, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepResult> StepRunner::Step() {
  std::vector<Buffer*> arguments;
  arguments.reserve(arguments_.size());
  for (size_t number = 0; number < arguments_.size(); ++number) {
    if (arguments_[number] == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "parameter \"", roles_.parameters[number].name, "\" has no value"));
    }
    arguments.push_back(arguments_[number].get());
  }
  const Stopwatch step_time;
  MW_ASSIGN_OR_RETURN(Execution run, executable_->ExecuteSingle(arguments));
  MW_RETURN_IF_ERROR(AwaitAll(run.done));
  StepResult result;
  result.seconds = step_time.seconds();
  std::vector<BufferPtr>& outputs = run.outputs[0];
  if (roles_.loss.has_value()) {
    MW_ASSIGN_OR_RETURN(result.loss, ReadScalar(*outputs[*roles_.loss]));
  }
  for (const StatePair& pair : roles_.state_pairs) {
    arguments_[pair.parameter] = std::move(outputs[pair.output]);
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
    const Buffer& buffer = *arguments_[pair.parameter];
    Tensor& tensor = state.emplace_back();
    tensor.name = roles_.parameters[pair.parameter].name;
    tensor.type = shapes_[pair.parameter].element_type;
    tensor.dimensions = shapes_[pair.parameter].dimensions;
    tensor.data.resize(buffer.shape().host_bytes());
    MW_RETURN_IF_ERROR(
        buffer.ReadToHost({reinterpret_cast<std::byte*>(tensor.data.data()),
                           tensor.data.size()}));
  }
  return state;
}

}  // namespace meshwright
