#include "meshwright/runtime/step_metrics.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/runtime/metrics_text.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Looks up 2 x 8 tokens of 10 and multiplies them: 2 * 16 * 4 * 3 flops.
constexpr char kTokens[] = R"(
HloModule tokens, entry_computation_layout={(bf16[4,3]{1,0}, bf16[2,8,4]{2,1,0}, s32[2,8]{1,0}, s32[99]{0})->bf16[2,8,3]{2,1,0}}

ENTRY main {
  w = bf16[4,3]{1,0} parameter(0)
  x = bf16[2,8,4]{2,1,0} parameter(1)
  tokens = s32[2,8]{1,0} parameter(2)
  lengths = s32[99]{0} parameter(3)
  ROOT y = bf16[2,8,3]{2,1,0} dot(x, w), lhs_contracting_dims={2}, rhs_contracting_dims={0}
}
)";

Cluster ClusterOf(double bf16) {
  Cluster cluster;
  cluster.device.tflops.bf16 = bf16;
  cluster.device.tflops.f32 = 1;
  return cluster;
}

Job OneStage() {
  Job job;
  job.timetable.rank_of_stage = {0};
  return job;
}

TEST(StepMetricsTest, FactsAreThoseOfTheModule) {
  const Module module = ReadModuleText(kTokens).value();
  const JobFacts facts = FactsOf(module, ClusterOf(3), /*devices=*/4);
  EXPECT_EQ(facts.tokens, 16);  // Of rank 2; not the 99.
  EXPECT_EQ(facts.samples, 99);
  EXPECT_EQ(facts.flops, 2 * 16 * 4 * 3);
  EXPECT_EQ(facts.peak_flops, 4 * 3e12);
  EXPECT_EQ(FactsOf(module, Cluster(), 4).peak_flops, 0);
}

TEST(StepMetricsTest, FiguresOfWorkers) {
  const JobFacts facts{
      .job = 3, .tokens = 1000, .flops = 2e12, .peak_flops = 16e12};
  const StepReport report{
      .seconds = 0.5,
      .loss = 2.25,
      .wire_bytes = 77,
      .workers = {{.seconds = 0.5, .wire_seconds = 0.125, .memory_bytes = 4096},
                  {.seconds = 0.4, .wire_seconds = 0.25}}};
  const StepFigures figures = FiguresOf(facts, OneStage(), 7, report);
  EXPECT_EQ(ToJsonLine(figures),
            R"({"job":3,"step":7,"loss":2.25,"seconds":0.5,)"
            R"("tokens_per_second":2000.0,"tflops":4.0,"mfu":0.25,)"
            R"("bubble":null,"communication_seconds":0.25,)"
            R"("communication_bytes":77,"memory_bytes":4096})");
}

TEST(StepMetricsTest, MemoryOfThisProcessNeedsNoWorkers) {
  const StepFigures figures =
      FiguresOf({}, OneStage(), 0, {.seconds = 0.5, .memory_bytes = 4096});
  EXPECT_EQ(figures.memory_bytes, 4096);
  EXPECT_EQ(figures.communication_bytes, std::nullopt);
}

TEST(StepMetricsTest, WhatIsNotKnownIsNull) {
  const StepReport report{.seconds = 0.5, .loss = std::nan("")};
  const auto json = nlohmann::json::parse(ToJsonLine(
      FiguresOf({.samples = 32, .flops = 1e12}, OneStage(), 0, report)));
  EXPECT_EQ(json["samples_per_second"], 64);
  EXPECT_FALSE(json.contains("tokens_per_second"));
  for (const char* name : {"loss", "mfu", "bubble", "communication_seconds",
                           "communication_bytes", "memory_bytes"}) {
    EXPECT_TRUE(json.at(name).is_null()) << name;
  }
}

TEST(MetricsTextTest, TellsTheLastStepOfEachJob) {
  LastFigures figures;
  const ServerFigures server{.workers = 2, .expected = 4, .devices = 8};
  EXPECT_THAT(figures.Text(server),
              AllOf(HasSubstr("# TYPE meshwright_workers gauge\n"
                              "meshwright_workers 2\n"),
                    Not(HasSubstr("meshwright_loss"))));
  for (int step = 0; step < 3; ++step) {
    figures.Set({.job = 1, .step = step, .loss = 3.0 - step, .seconds = 0.5});
  }
  figures.Set({.job = 2, .loss = std::nan(""), .seconds = 0.25, .mfu = 0.5});
  const std::string text = figures.Text(server);
  EXPECT_THAT(text, HasSubstr("# TYPE meshwright_steps_total counter\n"
                              "meshwright_steps_total{job=\"1\"} 3\n"
                              "meshwright_steps_total{job=\"2\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("meshwright_seconds_total{job=\"1\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("meshwright_loss{job=\"1\"} 1\n"
                              "meshwright_loss{job=\"2\"} NaN\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE meshwright_mfu gauge\n"
                              "meshwright_mfu{job=\"2\"} 0.5\n"));
  figures.Forget(1);
  EXPECT_THAT(figures.Text(server), Not(HasSubstr("job=\"1\"")));
}

}  // namespace
}  // namespace meshwright
