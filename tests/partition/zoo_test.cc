// Every tiny model of the zoo, split by expert plans and at random, against one
// device: loss and all updated state after three steps.
//
// With MW_LONG set every plan and 20 random assignments; otherwise a few.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/partition/sharding_file.h"
#include "tests/partition/partition_oracle.h"
#include "tests/partition/random_assignment.h"

namespace meshwright {
namespace {

constexpr int kSteps = 3;

bool IsLong() { return std::getenv("MW_LONG") != nullptr; }

// Those that together meet every kind of collective.
const std::set<std::string> kEveryday = {"dp_tp.json", "zero3.json",
                                         "expert.json", "sequence.json"};

const char* const kModels[] = {"gpt",  "gpt_scan", "llama",       "moe",
                               "bert", "vit",      "wide_resnet", "unet"};

TensorNames NamesOf(const ModuleRoles& roles) {
  TensorNames names;
  for (const ParameterInfo& info : roles.parameters) {
    names.parameters.push_back(info.name);
  }
  for (const OutputInfo& info : roles.outputs) {
    names.outputs.push_back(info.name);
  }
  return names;
}

// The plans of testdata/plans/MODEL_PLAN.json, as whole file names.
std::vector<std::string> PlansOf(const std::string& model) {
  std::vector<std::string> plans;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(MW_SOURCE_DIR) + "/testdata/plans")) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, model + "_")) continue;
    const std::string plan = name.substr(model.size() + 1);
    if (model == "gpt" && absl::StartsWith(plan, "scan_")) continue;
    if (!IsLong() && !kEveryday.contains(plan)) continue;
    plans.push_back(entry.path().string());
  }
  std::sort(plans.begin(), plans.end());
  return plans;
}

class Zoo : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    absl::StatusOr<Module> module =
        ReadZooModule(absl::StrCat(GetParam(), "_tiny"));
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::make_unique<Module>(*std::move(module));
    auto oracle = PartitionOracle::Create(*module_, kSteps);
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    oracle_ = *std::move(oracle);
  }

  std::unique_ptr<Module> module_;
  std::unique_ptr<PartitionOracle> oracle_;
};

TEST_P(Zoo, ExpertPlans) {
  const std::vector<std::string> plans = PlansOf(GetParam());
  ASSERT_GE(plans.size(), 2);
  for (const std::string& plan : plans) {
    SCOPED_TRACE(plan);
    const absl::StatusOr<std::string> text = ReadFile(plan);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::StatusOr<ShardingFile> file =
        ParseShardingFile(*text, *module_, NamesOf(oracle_->roles()));
    ASSERT_TRUE(file.ok()) << file.status();
    const absl::StatusOr<Partitioned> split =
        Partition(*module_, file->mesh, file->annotations);
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_EQ(split->module.aliases.size(), module_->aliases.size());
    const absl::Status status = oracle_->Check(*split);
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_P(Zoo, RandomAssignments) {
  const int plans = IsLong() ? 20 : 1;
  const FlatGraph graph = Flatten(*module_);
  const char* const meshes[] = {"a=2,b=2", "a=2,b=2,c=2", "a=3,b=2", "d=4"};
  for (int i = 0; i < plans; ++i) {
    const Mesh mesh = *Mesh::Parse(meshes[i % std::size(meshes)]);
    SCOPED_TRACE(absl::StrCat("seed ", i, " on ", mesh.ToString()));
    Resharder resharder(&mesh, Prices());
    const absl::StatusOr<Partitioned> split =
        PartitionAs(*module_, mesh, graph,
                    RandomAssignment(*module_, graph, mesh, i), resharder);
    ASSERT_TRUE(split.ok()) << split.status();
    const absl::Status status = oracle_->Check(*split);
    EXPECT_TRUE(status.ok()) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, Zoo, testing::ValuesIn(kModels),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace meshwright
