// Every tiny model of the zoo, split by expert plans and at random, against one
// device: loss and all updated state after three steps.
//
// With MW_LONG set every plan and 20 random assignments; otherwise a few. Each
// is a test of its own.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
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
#include "tests/partition/partition_oracle.h"
#include "tests/partition/random_assignment.h"

namespace meshwright {
namespace {

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
  std::error_code none;  // AreThere fails then.
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(MW_SOURCE_DIR) + "/testdata/plans", none)) {
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

// A model and what one device makes of it.
struct WholeRun {
  explicit WholeRun(Module read) : module(std::move(read)) {}

  Module module;
  std::unique_ptr<PartitionOracle> oracle;
};

// Run once per process and model, for all its tests.
absl::StatusOr<WholeRun*> WholeRunOf(const std::string& model) {
  static auto* const runs =
      new std::map<std::string, std::unique_ptr<WholeRun>>();
  std::unique_ptr<WholeRun>& run = (*runs)[model];
  if (run != nullptr) return run.get();
  MW_ASSIGN_OR_RETURN(Module module, ReadZooModule(model + "_tiny"));
  auto made = std::make_unique<WholeRun>(std::move(module));
  MW_ASSIGN_OR_RETURN(made->oracle,
                      PartitionOracle::Create(made->module, kStepsCompared));
  run = std::move(made);
  return run.get();
}

struct PlanCase {
  std::string model;
  std::string plan;  // The whole file name.

  std::string Name() const {
    return std::filesystem::path(plan).stem().string();
  }
};

void PrintTo(const PlanCase& value, std::ostream* out) { *out << value.Name(); }

std::vector<PlanCase> PlanCases() {
  std::vector<PlanCase> cases;
  for (const std::string model : kModels) {
    for (const std::string& plan : PlansOf(model)) {
      cases.push_back({model, plan});
    }
  }
  return cases;
}

// The first seed of a model, or all.
struct SeedCase {
  std::string model;
  int seed = 0;

  std::string Name() const {
    return seed == 0 ? model : absl::StrCat(model, "_seed_", seed);
  }
};

void PrintTo(const SeedCase& value, std::ostream* out) { *out << value.Name(); }

std::vector<SeedCase> SeedCases() {
  std::vector<SeedCase> cases;
  for (const std::string model : kModels) {
    // Compiling its many shapes takes as long as all others.
    if (model == "unet" && !IsLong()) continue;
    for (int seed = 0; seed < (IsLong() ? 20 : 1); ++seed) {
      cases.push_back({model, seed});
    }
  }
  return cases;
}

TEST(ZooPlans, AreThere) {
  for (const std::string model : kModels) {
    EXPECT_GE(PlansOf(model).size(), 2) << model;
  }
}

class ZooPlan : public testing::TestWithParam<PlanCase> {};

TEST_P(ZooPlan, ExpertPlans) {
  const absl::StatusOr<WholeRun*> whole = WholeRunOf(GetParam().model);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto& [module, oracle] = **whole;
  const absl::StatusOr<std::string> text = ReadFile(GetParam().plan);
  ASSERT_TRUE(text.ok()) << text.status();
  const absl::StatusOr<ShardingFile> file =
      ParseShardingFile(*text, module, NamesOf(oracle->roles()));
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<Partitioned> split =
      Partition(module, file->mesh, file->annotations);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_EQ(split->module.aliases.size(), module.aliases.size());
  const absl::Status status = oracle->Check(*split);
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Tiny, ZooPlan, testing::ValuesIn(PlanCases()),
                         [](const auto& test) { return test.param.Name(); });

class Zoo : public testing::TestWithParam<SeedCase> {};

TEST_P(Zoo, RandomAssignments) {
  const auto& [model, seed] = GetParam();
  const absl::StatusOr<WholeRun*> whole = WholeRunOf(model);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const auto& [module, oracle] = **whole;
  const char* const meshes[] = {"a=2,b=2", "a=2,b=2,c=2", "a=3,b=2", "d=4"};
  const Mesh mesh = *Mesh::Parse(meshes[seed % std::size(meshes)]);
  SCOPED_TRACE(absl::StrCat("seed ", seed, " on ", mesh.ToString()));
  const FlatGraph graph = Flatten(module);
  Resharder resharder(&mesh, Prices());
  const absl::StatusOr<Partitioned> split =
      PartitionAs(module, mesh, graph,
                  RandomAssignment(module, graph, mesh, seed), resharder);
  ASSERT_TRUE(split.ok()) << split.status();
  const absl::Status status = oracle->Check(*split);
  EXPECT_TRUE(status.ok()) << status;
}

INSTANTIATE_TEST_SUITE_P(Tiny, Zoo, testing::ValuesIn(SeedCases()),
                         [](const auto& test) { return test.param.Name(); });

}  // namespace
}  // namespace meshwright
