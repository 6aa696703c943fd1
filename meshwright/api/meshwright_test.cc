// The library as others use it: only its header, on real devices.
#include "meshwright/api/meshwright.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright::api {
namespace {

using testing::HasSubstr;

const char* const kModule = MW_SOURCE_DIR "/testdata/gpt_tiny.hlo.pb.zst";

std::string BytesOf(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

Plan PlanOf(const Step& step, const std::string& cluster,
            PlanOptions options = {}) {
  options.assumed = true;
  return MakePlan(step, *Cluster::Parse(cluster), options).value();
}

// The losses of three steps and a weight after them.
struct Trained {
  std::vector<double> losses;
  Tensor weight;
};
Trained Train(const Step& step, const Plan& plan) {
  Job job = Job::Create(step, plan, "cpu").value();
  EXPECT_EQ(job.FillSynthetic(3), absl::OkStatus());
  Trained run;
  for (int i = 0; i < 3; ++i) run.losses.push_back(*job.Step()->loss);
  run.weight = job.Fetch("state/params/blocks/0/mlp/up/w").value();
  return run;
}

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

TEST(ApiTest, AnyPlanTrainsAlike) {
  const Step step = *Step::Load(kModule);
  const Trained one = Train(step, PlanOf(step, "cpu:1"));
  EXPECT_EQ(one.weight.type, "f32");
  const Plan four = PlanOf(step, "cpu:4");
  EXPECT_EQ(four.device_count(), 4);
  const Plan staged = PlanOf(step, "cpu:2", {.micro_batches = 2, .stages = 2});
  for (const Plan& plan : {four, staged}) {
    const Trained run = Train(step, plan);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(run.losses[i], one.losses[i], 1e-5 * one.losses[i]);
    }
    EXPECT_EQ(run.weight.dimensions, one.weight.dimensions);
    const std::vector<float> a = Floats(run.weight), b = Floats(one.weight);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4);
  }
}

TEST(ApiTest, NothingNeedsToOutliveAnything) {
  std::optional<Step> step = *Step::Parse(BytesOf(kModule));
  const std::string path = testing::TempDir() + "/api_test_plan.json";
  {
    const Plan plan = PlanOf(*step, "cpu:2");
    ASSERT_EQ(plan.Save(path), absl::OkStatus());
  }
  std::optional<Plan> plan = *Plan::Load(path);
  EXPECT_THAT(*plan->Explain(), HasSubstr("strategy auto"));
  EXPECT_GT(plan->step_seconds(), 0);
  EXPECT_GT(plan->peak_bytes(), 0);
  Job job = Job::Create(*step, *plan, "cpu").value();
  const std::vector<Tensor> parameters = step->parameters();
  step.reset();
  plan.reset();
  ASSERT_EQ(job.FillSynthetic(0), absl::OkStatus());
  EXPECT_TRUE(job.Step()->loss.has_value());
  // State goes out, and in again.
  const std::vector<Tensor> state = *job.FetchState();
  EXPECT_LT(state.size(), parameters.size());
  const double next = *job.Step()->loss;
  ASSERT_EQ(job.Set(state), absl::OkStatus());
  EXPECT_EQ(*job.Step()->loss, next);
}

TEST(ApiTest, MistakesAreOneLine) {
  EXPECT_THAT(std::string(Step::Load("none.hlo.pb").status().message()),
              HasSubstr("none.hlo.pb"));
  EXPECT_THAT(std::string(Step::Parse("{}").status().message()),
              HasSubstr("step: "));
  EXPECT_THAT(std::string(Cluster::Parse("abacus").status().message()),
              HasSubstr("cluster abacus: "));
  EXPECT_EQ(Step::Load(kModule)->outputs().back().name, "out/1");
  const Step step = *Step::Load(MW_SOURCE_DIR "/tests/e2e/small_step.hlo");
  ASSERT_EQ(step.outputs().size(), 2);
  EXPECT_TRUE(step.outputs().back().dimensions.empty());
  const Cluster cluster = *Cluster::Parse("cpu:2");
  EXPECT_THAT(
      std::string(
          MakePlan(step, cluster, {.strategy = "fast"}).status().message()),
      HasSubstr("fast"));
  EXPECT_TRUE(absl::IsResourceExhausted(
      MakePlan(step, cluster, {.memory_bytes = 100, .assumed = true})
          .status()));
  const Plan plan = PlanOf(step, "cpu:2");
  const Step other = *Step::Load(MW_SOURCE_DIR "/testdata/vit_tiny.hlo.pb.zst");
  EXPECT_FALSE(Job::Create(other, plan, "cpu").ok());
  Job job = Job::Create(step, plan, "cpu").value();
  EXPECT_THAT(std::string(job.Fetch("nobody").status().message()),
              HasSubstr("nobody"));
  EXPECT_FALSE(job.Fetch(step.outputs().back().name).ok());
  EXPECT_THAT(std::string(job.Set({{.name = "w", .type = "f99"}}).message()),
              HasSubstr("f99"));
}

}  // namespace
}  // namespace meshwright::api
