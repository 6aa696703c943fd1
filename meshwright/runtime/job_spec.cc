#include "meshwright/runtime/job_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "proto/job.pb.h"

namespace meshwright {
namespace {

template <typename To, typename From>
To Narrow(From value) {
  return static_cast<To>(value);
}

void Write(const Shape& shape, proto::JobArray* to) {
  to->set_type(Narrow<int>(shape.element_type));
  to->mutable_dimensions()->Assign(shape.dimensions.begin(),
                                   shape.dimensions.end());
}

void Write(const StageInput& input, proto::JobInput* to) {
  to->set_kind(Narrow<int>(input.kind));
  to->set_index(input.index);
  if (input.batch_dim.has_value()) to->set_batch_dim(*input.batch_dim);
}

void Write(const StageShardings& shardings,
           google::protobuf::RepeatedPtrField<proto::JobLayout>* to) {
  for (const auto& [key, sharding] : shardings) {
    proto::JobLayout* layout = to->Add();
    layout->set_index(key.first);
    layout->set_stage(key.second);
    layout->set_reduction(Narrow<int>(sharding.reduction));
    for (const AxisId axis : sharding.pending) layout->add_pending(axis);
    for (const DimSharding& dim : sharding.dims) {
      proto::JobDimension* written = layout->add_dimensions();
      for (const Part& part : dim) {
        proto::JobPart* one = written->add_parts();
        one->set_size(part.size);
        for (const AxisId axis : part.axes) one->add_axes(axis);
      }
    }
  }
}

void WriteStep(const StagedStep& step,
               const std::vector<std::string>& code_hashes,
               proto::JobSpec* to) {
  to->set_stages(step.stages);
  to->set_micro_batches(step.micro_batches);
  for (size_t i = 0; i < step.programs.size(); ++i) {
    const StageProgram& program = step.programs[i];
    proto::JobProgram* written = to->add_programs();
    written->set_kind(Narrow<int>(program.kind));
    written->set_stage(program.stage);
    written->set_round(program.round);
    for (const StageInput& input : program.inputs) {
      Write(input, written->add_inputs());
    }
    for (const int32_t result : program.results) written->add_results(result);
    written->set_code_hash(code_hashes[i]);
  }
  for (const StageValue& value : step.values) {
    proto::JobValue* written = to->add_values();
    written->set_name(value.name);
    Write(value.shape, written->mutable_shape());
    written->set_program(value.program);
    for (const ProgramId user : value.users) written->add_users(user);
    if (value.accumulator.has_value()) {
      written->set_accumulator(*value.accumulator);
    }
  }
  for (const StageAccumulator& accumulator : step.accumulators) {
    proto::JobAccumulator* written = to->add_accumulators();
    Write(accumulator.shape, written->mutable_shape());
    written->set_reduction(Narrow<int>(accumulator.reduction));
    written->set_stage(accumulator.stage);
  }
  for (const int32_t home : step.homes) to->add_homes(home);
  for (const StageInput& output : step.outputs) {
    Write(output, to->add_outputs());
  }
  for (const NextValue& next : step.state) {
    proto::NextState* written = to->add_state();
    written->set_parameter(next.parameter);
    written->set_output(next.output);
  }
}

Shape Read(const proto::JobArray& array) {
  return Shape::Array(
      ElementTypeFromNumber(array.type()).value_or(ElementType::kInvalid),
      {array.dimensions().begin(), array.dimensions().end()});
}

StageInput Read(const proto::JobInput& input) {
  StageInput read{.kind = Narrow<StageInput::Kind>(input.kind()),
                  .index = input.index()};
  if (input.has_batch_dim()) read.batch_dim = input.batch_dim();
  return read;
}

StageShardings Read(
    const google::protobuf::RepeatedPtrField<proto::JobLayout>& layouts) {
  StageShardings shardings;
  for (const proto::JobLayout& layout : layouts) {
    Sharding& sharding = shardings[{layout.index(), StageId(layout.stage())}];
    sharding.reduction = Narrow<Reduction>(layout.reduction());
    for (const int32_t axis : layout.pending()) {
      sharding.pending.push_back(Narrow<AxisId>(axis));
    }
    for (const proto::JobDimension& dimension : layout.dimensions()) {
      DimSharding& dim = sharding.dims.emplace_back();
      for (const proto::JobPart& part : dimension.parts()) {
        Part& one = dim.emplace_back();
        one.size = part.size();
        for (const int32_t axis : part.axes()) {
          one.axes.push_back(Narrow<AxisId>(axis));
        }
      }
    }
  }
  return shardings;
}

StagedStep ReadStep(const proto::JobSpec& from) {
  StagedStep step{.stages = from.stages(),
                  .micro_batches = from.micro_batches()};
  for (const proto::JobProgram& program : from.programs()) {
    StageProgram& read = step.programs.emplace_back(
        StageProgram{.kind = Narrow<StageProgram::Kind>(program.kind()),
                     .stage = StageId(program.stage()),
                     .round = program.round(),
                     .module = Module("")});
    for (const proto::JobInput& input : program.inputs()) {
      read.inputs.push_back(Read(input));
    }
    read.results.assign(program.results().begin(), program.results().end());
  }
  for (const proto::JobValue& value : from.values()) {
    StageValue& read = step.values.emplace_back();
    read.name = value.name();
    read.shape = Read(value.shape());
    read.program = ProgramId(value.program());
    for (const int32_t user : value.users()) read.users.emplace_back(user);
    if (value.has_accumulator()) read.accumulator = value.accumulator();
  }
  for (const proto::JobAccumulator& accumulator : from.accumulators()) {
    step.accumulators.push_back(
        {.shape = Read(accumulator.shape()),
         .reduction = Narrow<Reduction>(accumulator.reduction()),
         .stage = StageId(accumulator.stage())});
  }
  for (const int32_t home : from.homes()) step.homes.emplace_back(home);
  for (const proto::JobInput& output : from.outputs()) {
    step.outputs.push_back(Read(output));
  }
  for (const proto::NextState& next : from.state()) {
    step.state.push_back({next.parameter(), next.output()});
  }
  return step;
}

// Whether shapes can have this element type and these dimensions.
bool IsArray(const proto::JobArray& array) {
  const auto type = ElementTypeFromNumber(array.type());
  return type.has_value() && IsArrayType(*type) &&
         std::ranges::all_of(array.dimensions(),
                             [](int64_t size) { return size >= 0; });
}

bool AreArrays(const proto::JobSpec& from) {
  const auto has_array = [](const auto& one) { return IsArray(one.shape()); };
  return std::ranges::all_of(from.values(), has_array) &&
         std::ranges::all_of(from.accumulators(), has_array) &&
         std::ranges::all_of(from.parameters(), has_array);
}

// Whether all lists of axes are of bounded length.
bool AxesFit(const proto::JobSpec& from) {
  for (const auto* layouts :
       {&from.parameter_layouts(), &from.work_layouts(), &from.value_layouts(),
        &from.accumulator_layouts()}) {
    for (const proto::JobLayout& layout : *layouts) {
      if (layout.pending_size() > Narrow<int>(AxisList::kCapacity)) {
        return false;
      }
      for (const proto::JobDimension& dimension : layout.dimensions()) {
        for (const proto::JobPart& part : dimension.parts()) {
          if (part.axes_size() > Narrow<int>(AxisList::kCapacity)) return false;
        }
      }
    }
  }
  return true;
}

absl::StatusOr<Timetable> ReadTimetable(const proto::JobSpec& from) {
  Timetable timetable{.micro_batches = Narrow<int>(from.micro_batches())};
  timetable.rank_of_stage.assign(from.rank_of_stage().begin(),
                                 from.rank_of_stage().end());
  for (const std::string& text : from.rows()) {
    std::vector<Action>& row = timetable.rows.emplace_back();
    for (const absl::string_view cell :
         absl::StrSplit(text, ',', absl::SkipEmpty())) {
      MW_ASSIGN_OR_RETURN(row.emplace_back(), ParseAction(cell));
    }
  }
  return timetable;
}

absl::StatusOr<std::vector<Mesh>> ReadMeshes(const proto::JobSpec& from) {
  std::vector<Mesh> meshes;
  for (const proto::JobMesh& mesh : from.meshes()) {
    if (mesh.axes_size() != mesh.sizes_size()) {
      return absl::InvalidArgumentError("a mesh has axes without sizes");
    }
    std::vector<MeshAxis> axes;
    for (int i = 0; i < mesh.axes_size(); ++i) {
      axes.push_back({mesh.axes(i), mesh.sizes(i)});
    }
    MW_ASSIGN_OR_RETURN(
        Mesh read, Mesh::Create(std::move(axes), {mesh.device_ids().begin(),
                                                  mesh.device_ids().end()}));
    meshes.push_back(std::move(read));
  }
  return meshes;
}

}  // namespace

std::string WriteJobSpec(const JobSpec& spec, const Job& job) {
  proto::JobSpec to;
  to.set_id(spec.id);
  for (const std::string& name : spec.worker_names) to.add_worker_names(name);
  to.set_wire_timeout_seconds(absl::ToDoubleSeconds(spec.wire_timeout));
  WriteStep(job.step, spec.code_hashes, &to);
  for (const Mesh& mesh : job.layout.meshes) {
    proto::JobMesh* written = to.add_meshes();
    for (const MeshAxis& axis : mesh.axes()) {
      written->add_axes(axis.name);
      written->add_sizes(axis.size);
    }
    for (const int64_t id : mesh.device_ids()) written->add_device_ids(id);
  }
  Write(job.layout.parameters, to.mutable_parameter_layouts());
  Write(job.layout.at_work, to.mutable_work_layouts());
  Write(job.layout.values, to.mutable_value_layouts());
  Write(job.layout.accumulators, to.mutable_accumulator_layouts());
  for (const std::vector<Action>& row : job.timetable.rows) {
    std::string text;
    for (const Action& action : row) {
      absl::StrAppend(&text, text.empty() ? "" : ",", ToString(action));
    }
    to.add_rows(std::move(text));
  }
  for (const int rank : job.timetable.rank_of_stage) to.add_rank_of_stage(rank);
  for (const std::vector<DeviceAt>& stage : job.devices) {
    proto::StageDevices* written = to.add_devices();
    for (const DeviceAt& at : stage) {
      written->add_workers(at.worker);
      written->add_devices(at.device);
    }
  }
  for (const Job::Parameter& parameter : job.parameters) {
    proto::JobParameter* written = to.add_parameters();
    written->set_name(parameter.name);
    Write(parameter.shape, written->mutable_shape());
    written->set_is_state(parameter.is_state);
  }
  if (job.loss.has_value()) to.set_loss(*job.loss);
  to.set_padding(static_cast<uint8_t>(job.padding));
  return to.SerializeAsString();
}

absl::StatusOr<JobSpec> ReadJobSpec(absl::string_view bytes) {
  proto::JobSpec from;
  if (!from.ParseFromArray(bytes.data(), Narrow<int>(bytes.size()))) {
    return absl::InvalidArgumentError("no job");
  }
  JobSpec spec;
  spec.id = from.id();
  spec.worker_names.assign(from.worker_names().begin(),
                           from.worker_names().end());
  spec.wire_timeout = absl::Seconds(from.wire_timeout_seconds());
  for (const proto::JobProgram& program : from.programs()) {
    spec.code_hashes.push_back(program.code_hash());
  }
  if (!AreArrays(from) || !AxesFit(from))
    return absl::InvalidArgumentError("no job");
  Job& job = spec.job;
  job.step = ReadStep(from);
  MW_ASSIGN_OR_RETURN(job.layout.meshes, ReadMeshes(from));
  job.layout.parameters = Read(from.parameter_layouts());
  job.layout.at_work = Read(from.work_layouts());
  job.layout.values = Read(from.value_layouts());
  job.layout.accumulators = Read(from.accumulator_layouts());
  MW_ASSIGN_OR_RETURN(job.timetable, ReadTimetable(from));
  for (const proto::StageDevices& stage : from.devices()) {
    std::vector<DeviceAt>& devices = job.devices.emplace_back();
    for (int i = 0; i < std::min(stage.workers_size(), stage.devices_size());
         ++i) {
      devices.push_back({stage.workers(i), stage.devices(i)});
    }
  }
  for (const proto::JobParameter& parameter : from.parameters()) {
    job.parameters.push_back({.name = parameter.name(),
                              .shape = Read(parameter.shape()),
                              .is_state = parameter.is_state()});
  }
  if (from.has_loss()) job.loss = from.loss();
  job.padding = static_cast<char>(from.padding());
  MW_RETURN_IF_ERROR(CheckJob(job));
  return spec;
}

}  // namespace meshwright
