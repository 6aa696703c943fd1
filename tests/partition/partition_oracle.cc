#include "tests/partition/partition_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/index_range.h"
#include "meshwright/analysis/sign.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/rules/collectives.h"
#include "meshwright/state/synthetic.h"
#include "tests/rules/host_values.h"

namespace meshwright {

namespace {

// Runs `steps` steps; state outputs become parameters. Outputs by device.
absl::StatusOr<std::vector<std::vector<BufferPtr>>> RunSteps(
    Executable& executable, std::vector<std::vector<BufferPtr>> arguments,
    const ModuleRoles& roles, int steps) {
  std::vector<std::vector<BufferPtr>> outputs;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<Buffer*>> pointers(arguments.size());
    std::vector<absl::Span<Buffer* const>> spans;
    for (size_t device = 0; device < arguments.size(); ++device) {
      for (const BufferPtr& buffer : arguments[device]) {
        pointers[device].push_back(buffer.get());
      }
      spans.push_back(pointers[device]);
    }
    MW_ASSIGN_OR_RETURN(Execution execution, executable.Execute(spans));
    for (const EventPtr& done : execution.done) {
      MW_RETURN_IF_ERROR(done->Await());
    }
    outputs = std::move(execution.outputs);
    if (step + 1 == steps) break;
    for (size_t device = 0; device < arguments.size(); ++device) {
      for (const StatePair& pair : roles.state_pairs) {
        arguments[device][pair.parameter] =
            std::move(outputs[device][pair.output]);
      }
    }
  }
  return outputs;
}

Literals SyntheticInputs(const Module& module, const ModuleRoles& roles,
                         uint64_t seed) {
  const std::map<int64_t, int64_t> bounds = IndexBounds(module);
  const std::set<int64_t> non_negative = NonNegativeParameters(module);
  Literals inputs;
  int64_t number = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    SyntheticOptions options;
    if (const auto bound = bounds.find(number); bound != bounds.end()) {
      options.bound = bound->second;
    }
    options.non_negative = non_negative.contains(number);
    Literal value = Zeros(parameter->shape);
    value.data = MakeSynthetic(parameter->shape, roles.parameters[number].name,
                               seed, options)
                     .data;
    inputs.push_back(std::move(value));
    ++number;
  }
  return inputs;
}

double Largest(const Literal& literal) {
  double largest = 0;
  for (int64_t i = 0; i < ElementCount(literal.shape); ++i) {
    const double value = std::abs(literal.ElementAsDouble(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

}  // namespace

absl::StatusOr<double> CompareScaled(const Literal& shard, const Literal& whole,
                                     const Sharding& sharding, const Mesh& mesh,
                                     int64_t device, double tolerance) {
  std::vector<std::vector<int64_t>> indices;
  for (const DimSharding& dim : sharding.dims) {
    indices.push_back(GlobalIndices(dim, mesh, device));
  }
  const double scale = Largest(whole);
  double worst = 0;
  for (int64_t i = 0; i < ElementCount(shard.shape); ++i) {
    int64_t rest = i;
    int64_t global = 0;
    int64_t stride = 1;
    bool padding = false;
    for (int64_t dim = shard.shape.rank(); dim-- > 0;) {
      const int64_t size = shard.shape.dimensions[dim];
      const int64_t index = indices[dim][rest % size];
      rest /= size;
      padding = padding || index < 0;
      global += index * stride;
      stride *= whole.shape.dimensions[dim];
    }
    if (padding) continue;
    const double got = shard.ElementAsDouble(i);
    const double want = whole.ElementAsDouble(global);
    const double error = std::abs(got - want);
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    if (!(error <= tolerance * (std::abs(want) + 0.1 * scale))) {
      return absl::InternalError(absl::StrCat("element ", global, " on device ",
                                              device, " is ", got, " not ",
                                              want, " (largest ", scale, ")"));
    }
    worst = std::max(worst, error / std::max(scale, 1e-30));
  }
  return worst;
}

absl::StatusOr<Module> ReadZooModule(const std::string& name) {
  MW_ASSIGN_OR_RETURN(
      const std::string bytes,
      ReadFile(absl::StrCat(MW_SOURCE_DIR, "/testdata/", name, ".hlo.pb.zst")));
  MW_ASSIGN_OR_RETURN(Module module, ReadModule(bytes));
  MW_RETURN_IF_ERROR(Verify(module));
  return module;
}

absl::StatusOr<std::unique_ptr<PartitionOracle>> PartitionOracle::Create(
    const Module& module, int steps, uint64_t seed) {
  std::unique_ptr<PartitionOracle> oracle(new PartitionOracle(module));
  oracle->steps_ = steps;
  oracle->roles_ = AnalyzeRoles(module);
  oracle->inputs_ = SyntheticInputs(module, oracle->roles_, seed);
  MW_ASSIGN_OR_RETURN(const auto executable, CompileForDevices(module, 1));
  std::vector<std::vector<BufferPtr>> arguments(1);
  for (const Literal& input : oracle->inputs_) {
    MW_ASSIGN_OR_RETURN(BufferPtr buffer,
                        Upload(input, *executable->devices()[0]));
    arguments[0].push_back(std::move(buffer));
  }
  MW_ASSIGN_OR_RETURN(
      const auto outputs,
      RunSteps(*executable, std::move(arguments), oracle->roles_, steps));
  for (const BufferPtr& output : outputs[0]) {
    MW_ASSIGN_OR_RETURN(Literal value, Download(*output));
    oracle->wanted_.push_back(std::move(value));
  }
  return oracle;
}

absl::Status PartitionOracle::Check(const Partitioned& partitioned,
                                    double tolerance) {
  const Mesh& mesh = partitioned.mesh;
  MW_ASSIGN_OR_RETURN(const auto executable,
                      CompileForDevices(partitioned.module,
                                        static_cast<int>(mesh.device_count())));
  MW_ASSIGN_OR_RETURN(const Program optimized, executable->OptimizedProgram());
  MW_ASSIGN_OR_RETURN(const Module compiled, ReadModule(optimized.code));
  MW_RETURN_IF_ERROR(CompareCollectives(compiled, partitioned));
  std::vector<std::vector<BufferPtr>> arguments(mesh.device_count());
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      MW_ASSIGN_OR_RETURN(
          BufferPtr buffer,
          Upload(ShardOf(inputs_[i], partitioned.parameters[i], mesh, device,
                         /*seed=*/i),
                 *executable->devices()[device]));
      arguments[device].push_back(std::move(buffer));
    }
  }
  MW_ASSIGN_OR_RETURN(
      const auto outputs,
      RunSteps(*executable, std::move(arguments), roles_, steps_));
  max_error_ = 0;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      MW_ASSIGN_OR_RETURN(const Literal shard, Download(*outputs[device][i]));
      const absl::StatusOr<double> error = CompareScaled(
          shard, wanted_[i], partitioned.outputs[i], mesh, device, tolerance);
      if (!error.ok()) {
        return absl::InternalError(absl::StrCat(
            "output ", roles_.outputs[i].name, ": ", error.status().message()));
      }
      max_error_ = std::max(max_error_, *error);
    }
  }
  return absl::OkStatus();
}

absl::Status CompareCollectives(const Module& compiled,
                                const Partitioned& reported) {
  // (kind, bytes, devices) -> times per step.
  using Key = std::tuple<std::string, int64_t, int64_t>;
  std::map<Key, double> difference;
  for (const Collective& use : reported.collectives) {
    difference[{use.kind, use.bytes, use.devices}] += use.count;
  }
  for (const CollectiveUse& use :
       CollectivesIn(compiled, reported.mesh.device_count())) {
    difference[{use.kind, use.bytes, use.devices}] -= use.count;
  }
  std::string message;
  for (const auto& [key, count] : difference) {
    if (count == 0) continue;
    const auto& [kind, bytes, devices] = key;
    absl::StrAppend(&message, message.empty() ? "" : "; ", kind, " of ", bytes,
                    " bytes among ", devices, ": reported ",
                    count > 0 ? "more" : "fewer", " by ", std::abs(count));
  }
  return message.empty() ? absl::OkStatus() : absl::InternalError(message);
}

}  // namespace meshwright
