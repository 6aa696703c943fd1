#include "tests/partition/micro_batch_oracle.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "tests/rules/host_values.h"

namespace meshwright {
namespace {

using Kind = MicroBatchArgument::Kind;

// Puts what `device` holds in its place in `whole`.
void PutShard(const Literal& shard, const Sharding& sharding, const Mesh& mesh,
              int64_t device, Literal& whole) {
  std::vector<std::vector<int64_t>> indices;
  for (const DimSharding& dim : sharding.dims) {
    indices.push_back(GlobalIndices(dim, mesh, device));
  }
  const int64_t bytes = HostBytes(whole.shape.element_type);
  for (int64_t i = 0; i < ElementCount(shard.shape); ++i) {
    int64_t rest = i;
    int64_t global = 0;
    int64_t stride = 1;
    bool padding = false;
    for (int64_t dim = shard.shape.rank(); dim-- > 0;) {
      const int64_t index = indices[dim][rest % shard.shape.dimensions[dim]];
      rest /= shard.shape.dimensions[dim];
      padding = padding || index < 0;
      global += index * stride;
      stride *= whole.shape.dimensions[dim];
    }
    if (padding) continue;
    std::memcpy(whole.data.data() + global * bytes,
                shard.data.data() + i * bytes, bytes);
  }
}

// A partitioned program on whole arrays in host memory.
class HostProgram {
 public:
  static absl::StatusOr<std::unique_ptr<HostProgram>> Create(
      const Module& module, const Mesh& mesh, Pins pins) {
    MW_ASSIGN_OR_RETURN(Partitioned split,
                        Partition(module, mesh, std::move(pins)));
    std::unique_ptr<HostProgram> program(new HostProgram(std::move(split)));
    MW_ASSIGN_OR_RETURN(
        program->executable_,
        CompileForDevices(program->split_.module,
                          static_cast<int>(mesh.device_count())));
    return program;
  }

  absl::StatusOr<Literals> Run(const Literals& arguments) {
    const Mesh& mesh = split_.mesh;
    std::vector<std::vector<BufferPtr>> buffers(mesh.device_count());
    std::vector<std::vector<Buffer*>> pointers(mesh.device_count());
    std::vector<absl::Span<Buffer* const>> spans;
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      for (size_t i = 0; i < arguments.size(); ++i) {
        MW_ASSIGN_OR_RETURN(
            BufferPtr buffer,
            Upload(ShardOf(arguments[i], split_.parameters[i], mesh, device,
                           /*seed=*/i),
                   *executable_->devices()[device]));
        pointers[device].push_back(buffer.get());
        buffers[device].push_back(std::move(buffer));
      }
      spans.push_back(pointers[device]);
    }
    MW_ASSIGN_OR_RETURN(const Execution execution, executable_->Execute(spans));
    for (const EventPtr& done : execution.done) {
      MW_RETURN_IF_ERROR(done->Await());
    }
    Literals results;
    for (size_t i = 0; i < split_.outputs.size(); ++i) {
      for (int64_t device = 0; device < mesh.device_count(); ++device) {
        MW_ASSIGN_OR_RETURN(const Literal shard,
                            Download(*execution.outputs[device][i]));
        if (device == 0) {
          results.push_back(Zeros(Shape::Array(
              shard.shape.element_type, GlobalDimensions(split_.outputs[i]))));
        }
        PutShard(shard, split_.outputs[i], mesh, device, results[i]);
      }
    }
    return results;
  }

 private:
  explicit HostProgram(Partitioned split) : split_(std::move(split)) {}

  Partitioned split_;
  std::unique_ptr<Executable> executable_;
};

class MicroBatchRun {
 public:
  MicroBatchRun(const MicroBatched& split, const Mesh& mesh,
                bool split_accumulators)
      : split_(split), mesh_(mesh), split_accumulators_(split_accumulators) {}

  absl::Status Compile() {
    MW_ASSIGN_OR_RETURN(start_, HostProgram::Create(split_.start, mesh_, {}));
    for (const MicroBatchProgram& phase : split_.phases) {
      MW_ASSIGN_OR_RETURN(phases_.emplace_back(), Compiled(phase));
    }
    MW_ASSIGN_OR_RETURN(apply_, Compiled(split_.apply));
    return absl::OkStatus();
  }

  absl::StatusOr<Literals> Step(const Literals& inputs) {
    MW_ASSIGN_OR_RETURN(Literals totals, start_->Run({}));
    for (size_t phase = 0; phase < phases_.size(); ++phase) {
      const MicroBatchProgram& program = split_.phases[phase];
      for (int64_t index = 0; index < split_.count; ++index) {
        MW_ASSIGN_OR_RETURN(
            Literals results,
            phases_[phase]->Run(Arguments(program, inputs, totals, index)));
        for (size_t i = 0; i < results.size(); ++i) {
          totals[program.accumulators[i]] = std::move(results[i]);
        }
      }
    }
    return apply_->Run(Arguments(split_.apply, inputs, totals, 0));
  }

 private:
  static Sharding SplitAlong(const Shape& shape, int64_t dimension,
                             const AxisList& axes) {
    Sharding sharding = Sharding::Replicated(shape.dimensions);
    sharding.dims[dimension] = {{shape.dimensions[dimension], axes}};
    return sharding;
  }

  absl::StatusOr<std::unique_ptr<HostProgram>> Compiled(
      const MicroBatchProgram& program) {
    const AxisList axes = mesh_.SubAxes(0);
    Pins pins;
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      const MicroBatchArgument& argument = program.arguments[i];
      const Shape& shape = program.module.entry()->Parameters()[i]->shape;
      auto& pin = pins.parameters.emplace_back();
      const bool whole_rows =
          shape.rank() > 0 && shape.dimensions[0] % mesh_.Size(axes) == 0;
      if (argument.batch_dim.has_value()) {
        pin = SplitAlong(shape, *argument.batch_dim, axes);
      } else if (argument.kind == Kind::kAccumulator && split_accumulators_ &&
                 whole_rows && !axes.empty()) {
        pin = SplitAlong(shape, 0, axes);
      }
    }
    return HostProgram::Create(program.module, mesh_, std::move(pins));
  }

  Literals Arguments(const MicroBatchProgram& program, const Literals& inputs,
                     const Literals& totals, int64_t index) {
    const absl::StatusOr<Mesh> time = Mesh::Create({{"time", split_.count}});
    Literals arguments;
    for (const MicroBatchArgument& argument : program.arguments) {
      switch (argument.kind) {
        case Kind::kParameter: {
          const Literal& input = inputs[argument.index];
          arguments.push_back(
              argument.batch_dim.has_value()
                  ? ShardOf(input,
                            SplitAlong(input.shape, *argument.batch_dim,
                                       time->AllSubAxes()),
                            *time, index, 0)
                  : input);
          break;
        }
        case Kind::kIndex:
          arguments.push_back(Zeros(Shape::Scalar(ElementType::kS32)));
          SetElement(arguments.back(), 0, static_cast<double>(index));
          break;
        case Kind::kAccumulator:
          arguments.push_back(totals[argument.index]);
          break;
      }
    }
    return arguments;
  }

  const MicroBatched& split_;
  const Mesh& mesh_;
  const bool split_accumulators_;
  std::unique_ptr<HostProgram> start_;
  std::vector<std::unique_ptr<HostProgram>> phases_;
  std::unique_ptr<HostProgram> apply_;
};

}  // namespace

absl::StatusOr<Module> ReadStep(const std::string& name) {
  MW_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadFile(absl::StrCat(MW_SOURCE_DIR, "/tests/partition/testdata/", name,
                            ".hlo.pb.zst")));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(bytes));
  MW_RETURN_IF_ERROR(Verify(module));
  return module;
}

absl::Status CheckMicroBatches(const PartitionOracle& oracle,
                               const MicroBatched& split, const Mesh& mesh,
                               bool split_accumulators, double tolerance) {
  MicroBatchRun run(split, mesh, split_accumulators);
  MW_RETURN_IF_ERROR(run.Compile());
  Literals inputs = oracle.inputs();
  Literals outputs;
  for (int step = 0; step < oracle.steps(); ++step) {
    MW_ASSIGN_OR_RETURN(outputs, run.Step(inputs));
    for (const StatePair& pair : oracle.roles().state_pairs) {
      inputs[pair.parameter] = outputs[pair.output];
    }
  }
  MW_ASSIGN_OR_RETURN(const Mesh one, Mesh::Parse("1"));
  for (size_t i = 0; i < outputs.size(); ++i) {
    MW_RETURN_IF_ERROR(Annotate(
        CompareScaled(outputs[i], oracle.wanted()[i],
                      Sharding::Replicated(outputs[i].shape.dimensions), one, 0,
                      tolerance)
            .status(),
        absl::StrCat("output ", oracle.roles().outputs[i].name)));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
