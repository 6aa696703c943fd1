#include "meshwright/runtime/job_spec.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

constexpr char kStep[] = R"(
HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY main {
  w = f32[8,4] parameter(0)
  x = f32[8,4] parameter(1)
  next = f32[8,4] add(w, x)
  loss = f32[] constant(1)
  ROOT out = (f32[8,4], f32[]) tuple(next, loss)
}
)";

// On two workers, the second parameter split over both.
JobSpec Spec(const Module& module) {
  JobSpec spec{.id = 7,
               .worker_names = {"worker 0", "worker 1"},
               .wire_timeout = absl::Seconds(30),
               .code_hashes = {"abc"}};
  const Mesh mesh = Mesh::Parse("data=2").value();
  Sharding split = Sharding::Replicated({8, 4});
  split.dims[0][0].axes = mesh.AllSubAxes();
  spec.job = MakeJob(module).value().job;
  spec.job.layout.meshes = {mesh};
  spec.job.layout.parameters[{1, StageId(0)}] = split;
  const std::vector<int64_t> devices = {1, 1};
  EXPECT_EQ(PlaceJob(devices, spec.job), absl::OkStatus());
  return spec;
}

TEST(JobSpecTest, ComesBackAsItWas) {
  const Module module = ReadModuleText(kStep).value();
  const JobSpec spec = Spec(module);
  const std::string bytes = WriteJobSpec(spec, spec.job);
  const auto read = ReadJobSpec(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(WriteJobSpec(*read, read->job), bytes);
  EXPECT_EQ(read->job.workers(), 2);
  EXPECT_EQ(read->job.layout.parameters, spec.job.layout.parameters);
  EXPECT_EQ(read->job.timetable, spec.job.timetable);
  EXPECT_EQ(read->job.loss, spec.job.loss);
  EXPECT_EQ(read->worker_names, spec.worker_names);
}

TEST(JobSpecTest, ContradictionsAreRefused) {
  const Module module = ReadModuleText(kStep).value();
  JobSpec spec = Spec(module);
  spec.job.devices[0].pop_back();
  EXPECT_THAT(ReadJobSpec(WriteJobSpec(spec, spec.job)).status().message(),
              testing::HasSubstr("wrong number of devices"));
  spec = Spec(module);
  spec.job.step.programs[0].inputs[0].index = 99;
  EXPECT_THAT(ReadJobSpec(WriteJobSpec(spec, spec.job)).status().message(),
              testing::HasSubstr("wrong input"));
  spec = Spec(module);
  spec.job.layout.parameters.erase({1, StageId(0)});
  EXPECT_THAT(ReadJobSpec(WriteJobSpec(spec, spec.job)).status().message(),
              testing::HasSubstr("wrong layout"));
}

TEST(JobSpecTest, DamagedBytesNeverCrash) {
  const Module module = ReadModuleText(kStep).value();
  const JobSpec spec = Spec(module);
  const std::string bytes = WriteJobSpec(spec, spec.job);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = bytes;
    for (int change = 0; change < 1 + i % 4; ++change) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    ReadJobSpec(damaged).status().IgnoreError();
  }
}

}  // namespace
}  // namespace meshwright
