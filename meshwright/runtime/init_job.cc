#include "meshwright/runtime/init_job.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

std::vector<Instruction*> OutputsOf(const Module& module) {
  Instruction* const root = module.entry()->root();
  if (root->opcode == Opcode::kTuple) return root->operands;
  return {root};
}

// The part of `whole` that `piece` needs.
Instruction* PartOf(Instruction* whole, const InitPiece& piece,
                    Computation* entry) {
  if (piece.end < 0) return whole;
  Shape shape = whole->shape;
  shape.dimensions[piece.dimension] = piece.end - piece.begin;
  shape.layout.reset();
  std::vector<SliceDimension> slice;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const bool is_cut = d == piece.dimension;
    slice.push_back({.start = is_cut ? piece.begin : 0,
                     .limit = is_cut ? piece.end : shape.dimensions[d],
                     .stride = 1});
  }
  Instruction* const part =
      entry->Add(Opcode::kSlice, std::move(shape), {whole},
                 absl::StrCat("part.", piece.parameter));
  part->attributes.mutate().slice = std::move(slice);
  return part;
}

// The function with the outputs that these pieces need.
absl::StatusOr<Module> WithOutputs(const Module& init,
                                   const std::vector<InitPiece>& pieces) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, WriteModule(init));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(bytes));
  const std::vector<Instruction*> outputs = OutputsOf(module);
  Computation* const entry = module.entry();
  std::vector<Instruction*> wanted;
  std::vector<Shape> shapes;
  for (const InitPiece& piece : pieces) {
    wanted.push_back(PartOf(outputs[piece.output], piece, entry));
    shapes.push_back(wanted.back()->shape);
  }
  entry->set_root(entry->Add(Opcode::kTuple, Shape::Tuple(std::move(shapes)),
                             std::move(wanted), "state_of_job"));
  // What the function states about its own outputs.
  module.entry_layout.reset();
  module.aliases.clear();
  module.buffer_donors.clear();
  module.frontend_attributes = {};
  module.spmd_output_sharding = {};
  module.Finish();
  return module;
}

}  // namespace

absl::StatusOr<std::vector<InitPiece>> MatchInit(const Module& init,
                                                 const Module& step,
                                                 const ModuleRoles& roles) {
  const std::vector<Instruction*> outputs = OutputsOf(init);
  const ModuleRoles own = AnalyzeRoles(init);
  std::map<std::string, int64_t> by_name;
  for (size_t i = 0; i < own.outputs.size(); ++i) {
    by_name[own.outputs[i].name] = static_cast<int64_t>(i);
  }
  bool is_named = true;
  for (const StatePair& pair : roles.state_pairs) {
    is_named &= by_name.contains(roles.parameters[pair.parameter].name);
  }
  if (!is_named && outputs.size() != roles.state_pairs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it returns ", outputs.size(), " arrays; the state of the step has ",
        roles.state_pairs.size()));
  }
  std::vector<InitPiece> pieces;
  for (const StatePair& pair : roles.state_pairs) {
    const std::string& name = roles.parameters[pair.parameter].name;
    const int64_t output =
        is_named ? by_name[name] : static_cast<int64_t>(pieces.size());
    const Shape& wanted = step.entry()->Parameters()[pair.parameter]->shape;
    if (!Compatible(outputs[output]->shape, wanted)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output ", output, " is ", outputs[output]->shape.ToString(), "; ",
          name, " is ", wanted.ToString()));
    }
    pieces.push_back({.parameter = pair.parameter, .output = output});
  }
  return pieces;
}

absl::StatusOr<InitJob> MakeInitJob(const Module& init,
                                    const std::vector<InitPiece>& pieces,
                                    const Job& job) {
  InitJob made;
  Job& own = made.source.job;
  own.layout.meshes = job.layout.meshes;
  own.devices = job.devices;
  own.timetable = {.micro_batches = 1,
                   .rank_of_stage = job.timetable.rank_of_stage};
  own.timetable.rows.resize(job.timetable.ranks());
  own.step.stages = job.step.stages;
  const ModuleRoles roles = AnalyzeRoles(init);
  for (const Instruction* parameter : init.entry()->Parameters()) {
    own.parameters.push_back(
        {.name = roles.parameters[parameter->attributes->parameter_number].name,
         .shape = parameter->shape});
    own.step.homes.emplace_back(0);
  }
  std::vector<InitPiece> in_order;
  for (StageId stage{0}; stage < job.step.stages; ++stage) {
    std::vector<InitPiece> here;
    for (const InitPiece& piece : pieces) {
      if (job.step.homes[piece.parameter] == stage) here.push_back(piece);
    }
    if (here.empty()) continue;
    MW_ASSIGN_OR_RETURN(const Module module, WithOutputs(init, here));
    Pins pins;
    pins.parameters.resize(own.parameters.size());
    StageProgram program{.kind = StageProgram::Kind::kApply,
                         .stage = stage,
                         .module = Module(module.name())};
    const ProgramId number(made.programs.size());
    for (const InitPiece& piece : here) {
      const Sharding& sharding =
          job.layout.parameters.at({piece.parameter, stage});
      pins.outputs.emplace_back(sharding);
      const auto value = static_cast<int64_t>(own.step.values.size());
      own.step.values.push_back({.name = job.parameters[piece.parameter].name,
                                 .shape = job.parameters[piece.parameter].shape,
                                 .program = number});
      own.layout.values[{value, stage}] = sharding;
      own.step.outputs.push_back(
          {.kind = StageInput::Kind::kValue, .index = value});
      program.results.push_back(static_cast<int32_t>(value));
      made.parameters.push_back(piece.parameter);
      in_order.push_back(piece);
    }
    absl::StatusOr<Partitioned> split =
        Partition(module, job.layout.meshes[stage], std::move(pins));
    if (!split.ok()) return Annotate(split.status(), program.Name());
    made.programs.push_back(std::make_unique<Partitioned>(*std::move(split)));
    const Partitioned& lowered = *made.programs.back();
    for (size_t i = 0; i < own.parameters.size(); ++i) {
      const auto index = static_cast<int64_t>(i);
      program.inputs.push_back({.index = index});
      own.layout.parameters[{index, stage}] = lowered.parameters[i];
    }
    made.source.modules.push_back(&lowered.module);
    own.step.programs.push_back(std::move(program));
  }
  MW_ASSIGN_OR_RETURN(Module whole, WithOutputs(init, in_order));
  made.module = std::make_unique<Module>(std::move(whole));
  return made;
}

}  // namespace meshwright
