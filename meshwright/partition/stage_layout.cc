#include "meshwright/partition/stage_layout.h"

#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Splits a dimension over the first axis of the mesh, if it divides.
Sharding SplitAlong(const Shape& shape, int64_t dimension, const Mesh& mesh) {
  Sharding sharding = Sharding::Replicated(shape.dimensions);
  if (mesh.axes().empty()) return sharding;
  const AxisList axes = mesh.SubAxes(0);
  const int64_t size = shape.dimensions[dimension];
  if (axes.empty() || size % mesh.Size(axes) != 0) return sharding;
  sharding.dims[dimension] = {{size, axes}};
  return sharding;
}

// `sharding` on `from`, or what is most like it on `to`.
Sharding Moved(const Shape& shape, const Sharding& sharding, const Mesh& from,
               const Mesh& to) {
  if (from.axes() == to.axes()) return sharding;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    if (!AxesOf(sharding.dims[dim]).empty()) return SplitAlong(shape, dim, to);
  }
  return Sharding::Replicated(shape.dimensions);
}

class Layouter {
 public:
  Layouter(const StagedStep& step, std::vector<Mesh> meshes) : step_(step) {
    layout_.meshes = std::move(meshes);
  }

  absl::StatusOr<StagedLayout> Run() {
    for (const StageProgram& program : step_.programs) {
      const Mesh& mesh = layout_.meshes[program.stage];
      absl::StatusOr<Partitioned> split =
          Partition(program.module, mesh, PinsOf(program));
      if (!split.ok()) return Annotate(split.status(), program.Name());
      for (size_t i = 0; i < program.results.size(); ++i) {
        layout_.values[{program.results[i], program.stage}] = split->outputs[i];
      }
      layout_.programs.push_back(*std::move(split));
    }
    return std::move(layout_);
  }

 private:
  Pins PinsOf(const StageProgram& program) {
    Pins pins;
    const std::vector<Instruction*> parameters =
        program.module.entry()->Parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      pins.parameters.emplace_back(
          InputSharding(program, program.inputs[i], parameters[i]->shape));
    }
    for (const int32_t value : program.results) {
      pins.outputs.push_back(ResultPin(program, step_.values[value], value));
    }
    return pins;
  }

  Sharding InputSharding(const StageProgram& program, const StageInput& input,
                         const Shape& shape) {
    const std::pair<int64_t, int32_t> key = {input.index, program.stage};
    const Mesh& mesh = layout_.meshes[program.stage];
    const Sharding whole = Sharding::Replicated(shape.dimensions);
    switch (input.kind) {
      case StageInput::Kind::kMicroBatch:
        return whole;
      case StageInput::Kind::kParameter:
        return layout_.parameters
            .try_emplace(key, input.cut.has_value()
                                  ? SplitAlong(shape, *input.cut, mesh)
                                  : whole)
            .first->second;
      case StageInput::Kind::kAccumulator:
        return layout_.accumulators.try_emplace(key, whole).first->second;
      case StageInput::Kind::kValue:
        break;
    }
    if (const auto found = layout_.values.find(key);
        found != layout_.values.end()) {
      return found->second;
    }
    const int32_t from =
        step_.programs[step_.values[input.index].program].stage;
    return layout_.values[key] =
               Moved(shape, layout_.values.at({input.index, from}),
                     layout_.meshes[from], mesh);
  }

  // Accumulators and state come out as they go in.
  std::optional<Annotation> ResultPin(const StageProgram& program,
                                      const StageValue& value, int32_t number) {
    const Sharding whole = Sharding::Replicated(value.shape.dimensions);
    if (value.accumulator.has_value()) {
      return layout_.accumulators
          .try_emplace({*value.accumulator, program.stage}, whole)
          .first->second;
    }
    for (const NextValue& next : step_.state) {
      const StageInput& output = step_.outputs[next.output];
      if (output.kind != StageInput::Kind::kValue || output.index != number) {
        continue;
      }
      return layout_.parameters
          .try_emplace({next.parameter, program.stage}, whole)
          .first->second;
    }
    return std::nullopt;
  }

  const StagedStep& step_;
  StagedLayout layout_;
};

}  // namespace

absl::StatusOr<StagedLayout> LayOutStages(const StagedStep& step,
                                          std::vector<Mesh> meshes) {
  return Layouter(step, std::move(meshes)).Run();
}

}  // namespace meshwright
