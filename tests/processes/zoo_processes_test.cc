// Tiny models of the zoo, split by expert plans, on devices of several
// processes, against one device: everything that a step returns.
//
// With MW_LONG set all plans; otherwise some that meet every kind of
// collective, in loops and outside.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/sharding_file.h"
#include "meshwright/base/file.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_workers_for_test.h"
#include "tests/partition/partition_oracle.h"
#include "tests/rules/host_values.h"

namespace meshwright {
namespace {

constexpr char kPlans[] = MW_SOURCE_DIR "/testdata/plans/";

struct PlanCase {
  std::string model;
  std::string plan;
  size_t placement = 0;

  std::string Name() const { return absl::StrCat(model, "_", plan); }
};

void PrintTo(const PlanCase& value, std::ostream* out) { *out << value.Name(); }

std::vector<PlanCase> PlanCases() {
  if (!IsLong()) {
    return {{"gpt_scan", "zero3"},
            {"gpt_scan", "dp_tp"},
            {"moe", "expert"},
            {"llama", "sequence"},
            {"bert", "zero2"}};
  }
  std::vector<PlanCase> cases;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kPlans, none)) {
    const std::string name = entry.path().stem().string();
    for (const std::string model : {"gpt_scan", "wide_resnet", "gpt", "llama",
                                    "moe", "bert", "vit", "unet"}) {
      if (!absl::StartsWith(name, model + "_")) continue;
      cases.push_back({model, name.substr(model.size() + 1), cases.size()});
      break;
    }
  }
  return cases;
}

// A model and what one device makes of it in one step.
struct WholeRun {
  explicit WholeRun(Module read) : module(std::move(read)) {}

  Module module;
  std::unique_ptr<PartitionOracle> oracle;
};

absl::StatusOr<WholeRun*> WholeRunOf(const std::string& model) {
  static auto* const runs =
      new std::map<std::string, std::unique_ptr<WholeRun>>();
  std::unique_ptr<WholeRun>& run = (*runs)[model];
  if (run != nullptr) return run.get();
  MW_ASSIGN_OR_RETURN(Module module, ReadZooModule(model + "_tiny"));
  auto made = std::make_unique<WholeRun>(std::move(module));
  MW_ASSIGN_OR_RETURN(made->oracle, PartitionOracle::Create(made->module, 1));
  run = std::move(made);
  return run.get();
}

absl::StatusOr<Partitioned> Split(const PlanCase& plan, const WholeRun& whole) {
  TensorNames names;
  for (const ParameterInfo& info : whole.oracle->roles().parameters) {
    names.parameters.push_back(info.name);
  }
  for (const OutputInfo& info : whole.oracle->roles().outputs) {
    names.outputs.push_back(info.name);
  }
  MW_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(absl::StrCat(kPlans, plan.Name(), ".json")));
  MW_ASSIGN_OR_RETURN(const ShardingFile file,
                      ParseShardingFile(text, whole.module, names));
  return Partition(whole.module, file.mesh, file.annotations);
}

// Where devices lie: in halves, in turn, or all but one together.
std::vector<int> ProcessOfDevices(int64_t devices, size_t way) {
  std::vector<int> process_of;
  for (int64_t device = 0; device < devices; ++device) {
    const bool second[] = {device >= devices / 2, device % 2 == 1, device != 1};
    process_of.push_back(second[way % 3] ? 1 : 0);
  }
  return process_of;
}

class ZooProcessesTest : public testing::TestWithParam<PlanCase> {};

TEST_P(ZooProcessesTest, EqualOneDevice) {
  const auto whole = WholeRunOf(GetParam().model);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const PartitionOracle& oracle = *(*whole)->oracle;
  const auto split = Split(GetParam(), **whole);
  ASSERT_TRUE(split.ok()) << split.status();
  const Mesh& mesh = split->mesh;
  DeviceArrays inputs(mesh.device_count());
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    for (size_t i = 0; i < oracle.inputs().size(); ++i) {
      inputs[device].push_back(ShardOf(oracle.inputs()[i], split->parameters[i],
                                       mesh, device,
                                       /*seed=*/i)
                                   .data);
    }
  }
  const std::vector<const Shape*> shapes =
      Leaves(split->module.entry()->root()->shape);
  const auto outputs = RunOnWorkers(
      split->module,
      ProcessOfDevices(mesh.device_count(), GetParam().placement), inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    for (size_t i = 0; i < oracle.wanted().size(); ++i) {
      Literal shard;
      shard.shape = *shapes[i];
      shard.data = (*outputs)[device][i];
      const auto error =
          CompareScaled(shard, oracle.wanted()[i], split->outputs[i], mesh,
                        device, /*tolerance=*/2e-5);
      EXPECT_TRUE(error.ok())
          << oracle.roles().outputs[i].name << ": " << error.status();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, ZooProcessesTest, testing::ValuesIn(PlanCases()),
                         [](const auto& test) { return test.param.Name(); });

}  // namespace
}  // namespace meshwright
