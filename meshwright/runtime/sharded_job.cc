// Jobs of one stage.
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/buffer_shape.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/job.h"

namespace meshwright {
namespace {

// Arguments and results of PJRT programs are flat lists of arrays.
absl::Status CheckSignature(const Module& module) {
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (!parameter->shape.IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter ", parameter->name, " is ", parameter->shape.ToString(),
          "; a step that runs takes arrays only"));
    }
  }
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      const Shape& shape = instruction->shape;
      if (!shape.IsArray() || IsBufferType(shape.element_type)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          instruction->name, " is ", shape.ToString(),
          "; XLA's plug-ins have no arrays of this type: convert it"));
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

// Checks that the program's arrays are the shards of the module's.
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

// Checks that a state's next value has the same sharding as the state.
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

}  // namespace

absl::StatusOr<JobSource> MakeJob(const Module& module) {
  if (const auto islands = IslandsIn(module); !islands.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        RegionName(*islands[0]), " does not run on one device; give --mesh ",
        IslandMeshes(module)[0].ToString(), ", or a plan"));
  }
  return MakeJob(module, OnOneDevice(module));
}

absl::StatusOr<JobSource> MakeJob(const Module& module,
                                  const ShardedStep& step) {
  MW_RETURN_IF_ERROR(CheckSignature(module));
  MW_RETURN_IF_ERROR(CheckFits(module, step));
  const ModuleRoles roles = AnalyzeRoles(module);
  MW_RETURN_IF_ERROR(CheckState(roles, step));
  JobSource made;
  made.modules = {&step.program};
  Job& job = made.job;
  job.layout.meshes = {step.mesh};
  job.loss = roles.loss;
  job.padding = step.padding;
  job.timetable = {.micro_batches = 1, .rank_of_stage = {0}, .rows = {{}}};
  StageProgram program{.kind = StageProgram::Kind::kApply,
                       .module = Module(module.name())};
  for (const Instruction* parameter : module.entry()->Parameters()) {
    const int64_t number = parameter->attributes->parameter_number;
    const ParameterInfo& info = roles.parameters[number];
    job.parameters.push_back({.name = info.name,
                              .shape = parameter->shape,
                              .is_state = info.role == ParameterRole::kState});
    job.layout.parameters[{number, StageId(0)}] = step.parameters[number];
    job.step.homes.emplace_back(0);
    program.inputs.push_back({.index = number});
  }
  int64_t index = 0;
  for (const Shape* leaf : Leaves(module.entry()->root()->shape)) {
    job.step.values.push_back(
        {.name = roles.outputs[index].name, .shape = *leaf});
    job.layout.values[{index, StageId(0)}] = step.outputs[index];
    job.step.outputs.push_back(
        {.kind = StageInput::Kind::kValue, .index = index});
    program.results.push_back(static_cast<int32_t>(index++));
  }
  for (const StatePair& pair : roles.state_pairs) {
    job.step.state.push_back({pair.parameter, pair.output});
  }
  job.step.programs.push_back(std::move(program));
  return made;
}

}  // namespace meshwright
