#include "meshwright/cost/program_cost.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/rates_for_test.h"

namespace meshwright {
namespace {

// Eight devices of one host.
Cluster OneHost() {
  Cluster cluster;
  cluster.hosts.resize(1);
  cluster.hosts[0].devices = 8;
  cluster.levels = {{"host", 8, 8, 10, 1}};
  return cluster;
}

constexpr double kDot = 1e-6 + 1024e-9;     // 2 * 8 * 8 * 8 operations.
constexpr double kSum = 1e-6 + 768e-9;      // Reads two, writes one of 256 B.
constexpr double kReduce = 10e-6 + 256e-9;  // Between two devices.

// out = all-reduce(x w) + w w: the second dot need not wait.
Module Sum() {
  Module module("sum");
  Computation* adder = AdderForTest(module);
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* w = body.Parameter(F32({8, 8}));
  Instruction* reduced =
      body.AllReduce(body.Dot(x, w), adder, {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  Instruction* other = body.Dot(w, w);
  body.Add(Opcode::kAdd, F32({8, 8}), {reduced, other});
  module.set_entry(body.computation());
  module.Finish();
  return module;
}

TEST(EstimateProgramTest, OneAfterTheOther) {
  const Mesh mesh = Mesh::Parse("data=4,model=2").value();
  const ProgramEstimate step =
      EstimateProgram(Sum(), SimpleRates(0), OneHost(), mesh);
  EXPECT_NEAR(step.compute_seconds, 2 * kDot + kSum, 1e-12);
  EXPECT_NEAR(step.contraction_seconds, 2 * kDot, 1e-12);
  EXPECT_NEAR(step.comm_seconds, kReduce, 1e-12);
  EXPECT_NEAR(step.exposed_seconds, kReduce, 1e-12);
  EXPECT_NEAR(step.step_seconds, 2 * kDot + kSum + kReduce, 1e-12);
  EXPECT_EQ(step.comm_bytes, 256);
  EXPECT_EQ(step.kernels, 3);
  EXPECT_EQ(step.collectives, 1);
}

TEST(EstimateProgramTest, SideBySide) {
  const Mesh mesh = Mesh::Parse("data=4,model=2").value();
  const ProgramEstimate step =
      EstimateProgram(Sum(), SimpleRates(1), OneHost(), mesh);
  // The second dot hides; the sum waits for the rest.
  EXPECT_NEAR(step.step_seconds, kDot + kReduce + kSum, 1e-12);
  EXPECT_NEAR(step.exposed_seconds, kReduce - kDot, 1e-12);
  // Half of it needs the device.
  const ProgramEstimate half =
      EstimateProgram(Sum(), SimpleRates(0.5), OneHost(), mesh);
  EXPECT_NEAR(half.step_seconds, kDot + kReduce + kSum, 1e-12);
  EXPECT_NEAR(half.comm_seconds, kReduce, 1e-12);
}

// What needs nothing but a parameter starts ahead of the kernels before it.
TEST(EstimateProgramTest, CollectivesStartWhenTheirOperandsAreThere) {
  Module module("ahead");
  Computation* adder = AdderForTest(module);
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* y = body.Parameter(F32({8, 8}));
  Instruction* dot = body.Dot(x, x);
  Instruction* reduced =
      body.AllReduce(y, adder, {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  body.Add(Opcode::kAdd, F32({8, 8}), {dot, reduced});
  module.set_entry(body.computation());
  module.Finish();
  const ProgramEstimate step = EstimateProgram(
      module, SimpleRates(1), OneHost(), Mesh::Parse("data=4,model=2").value());
  EXPECT_NEAR(step.step_seconds, std::max(kDot, kReduce) + kSum, 1e-12);
}

TEST(EstimateProgramTest, GroupsTellTheAxes) {
  // Eight in a group: 2 * 7/8 of 256 bytes.
  Module module("all");
  Computation* adder = AdderForTest(module);
  BodyForTest body(module.AddComputation("main"));
  body.AllReduce(body.Parameter(F32({8, 8})), adder,
                 {{0, 1, 2, 3, 4, 5, 6, 7}});
  module.set_entry(body.computation());
  module.Finish();
  const ProgramEstimate step = EstimateProgram(
      module, SimpleRates(0), OneHost(), Mesh::Parse("data=4,model=2").value());
  EXPECT_EQ(step.comm_bytes, 448);
  EXPECT_NEAR(step.step_seconds, 10e-6 + 448e-9, 1e-12);
}

// Two arrays of one collective, where devices meet for each of them.
TEST(EstimateProgramTest, FurtherArraysOfACollectiveCost) {
  Module module("two");
  Computation* adder = AdderForTest(module);
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* both = body.Add(
      Opcode::kAllReduce, Shape::Tuple({F32({8, 8}), F32({8, 8})}), {x, x});
  both->called = {adder};
  both->attributes.mutate().replica_groups = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  module.set_entry(body.computation());
  module.Finish();
  Rates rates = SimpleRates(0);
  const Mesh mesh = Mesh::Parse("data=4,model=2").value();
  EXPECT_NEAR(EstimateProgram(module, rates, OneHost(), mesh).comm_seconds,
              10e-6 + 512e-9, 1e-12);
  rates.further_array.value = 0.5;
  EXPECT_NEAR(EstimateProgram(module, rates, OneHost(), mesh).comm_seconds,
              15e-6 + 512e-9, 1e-12);
}

// On CPUs: what is gathered along another dimension than the first is
// transposed before and after.
TEST(EstimateProgramTest, GathersAlongLaterDimensionsTranspose) {
  const auto seconds = [](int64_t dimension, bool cpu) {
    Module module("gather");
    BodyForTest body(module.AddComputation("main"));
    Shape gathered = F32({8, 8});
    gathered.dimensions[dimension] *= 2;
    Instruction* all =
        body.Add(Opcode::kAllGather, gathered, {body.Parameter(F32({8, 8}))});
    all->attributes.mutate().dimensions = {dimension};
    all->attributes.mutate().replica_groups = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
    module.set_entry(body.computation());
    module.Finish();
    Cluster cluster = OneHost();
    if (cpu) cluster.device.kind = "cpu";
    Rates rates = SimpleRates(0);
    rates.strided_share.value = 0.5;
    return EstimateProgram(module, rates, cluster,
                           Mesh::Parse("data=4,model=2").value())
        .comm_seconds;
  };
  EXPECT_EQ(seconds(1, false), seconds(0, false));
  // Two kernels, which read and write 256 and 512 bytes at half the rate.
  EXPECT_NEAR(seconds(1, true) - seconds(0, true),
              2e-6 + 2 * (2 * 256e-9 + 2 * 512e-9), 1e-12);
}

// A loop of five trips: a dot and an all-reduce.
Module Loop() {
  Module module("loop");
  Computation* adder = AdderForTest(module);
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  Instruction* loop = LoopForTest(
      module, body, {x}, 5,
      [&](BodyForTest& inner, const std::vector<Instruction*>& carried) {
        return std::vector<Instruction*>{
            inner.AllReduce(inner.Dot(carried[0], carried[0]), adder,
                            {{0, 1, 2, 3, 4, 5, 6, 7}})};
      });
  body.Element(loop, 1);
  module.set_entry(body.computation());
  module.Finish();
  return module;
}

TEST(EstimateProgramTest, LoopsCountTheirTrips) {
  const ProgramEstimate step = EstimateProgram(
      Loop(), SimpleRates(0), OneHost(), Mesh::Parse("8").value());
  EXPECT_EQ(step.collectives, 5);
  EXPECT_EQ(step.comm_bytes, 5 * 448);
  EXPECT_EQ(step.kernels, 5 * 3);  // The dot, the counter, the condition.
  EXPECT_NEAR(step.contraction_seconds, 5 * kDot, 1e-12);
}

// A host that launches iterations neither lets the device count them nor waits
// for it.
TEST(EstimateProgramTest, HostsCountKnownTrips) {
  Rates rates = SimpleRates(0);
  const auto mesh = Mesh::Parse("8").value();
  rates.graph_seconds.value = 100;
  rates.launch_seconds.value = 1e-9;
  const ProgramEstimate quick = EstimateProgram(Loop(), rates, OneHost(), mesh);
  EXPECT_EQ(quick.kernels, 5 * 2);
  rates.launch_seconds.value = 1;
  const ProgramEstimate slow = EstimateProgram(Loop(), rates, OneHost(), mesh);
  // Of the dot, the counter and the collective.
  EXPECT_NEAR(slow.host_seconds, 27 + 5 * 3, 1e-9);
  EXPECT_NEAR(slow.step_seconds, slow.host_seconds, 1e-9);
}

TEST(EstimateProgramTest, ArgumentsCost) {
  Rates rates = SimpleRates(0);
  rates.argument_seconds.value = 1e-3;
  const ProgramEstimate step = EstimateProgram(
      Sum(), rates, OneHost(), Mesh::Parse("data=4,model=2").value());
  EXPECT_NEAR(step.step_seconds, 3e-3 + 2 * kDot + kSum + kReduce, 1e-12);
}

TEST(EstimateProgramTest, KernelsWaitForTheirHost) {
  Rates rates = SimpleRates(0);
  const auto mesh = Mesh::Parse("data=4,model=2").value();
  rates.graph_seconds.value = 100;    // No graph is as quick as kernels alone.
  rates.launch_seconds.value = 1e-9;  // It is ahead of them.
  EXPECT_NEAR(EstimateProgram(Sum(), rates, OneHost(), mesh).step_seconds,
              2 * kDot + kSum + kReduce, 1e-12);
  rates.launch_seconds.value = 1;
  const ProgramEstimate step = EstimateProgram(Sum(), rates, OneHost(), mesh);
  EXPECT_NEAR(step.host_seconds, 27 + 4, 1e-9);
  EXPECT_NEAR(step.step_seconds, 27 + 4, 1e-3);
  EXPECT_NEAR(step.compute_seconds + step.exposed_seconds, step.step_seconds,
              1e-9);
}

TEST(KernelSecondsTest, RowsThatBeginAnywhereAreSlow) {
  EXPECT_FALSE(IsUnaligned(ElementType::kBF16, {3, 768}));
  EXPECT_TRUE(IsUnaligned(ElementType::kBF16, {768, 50257}));
  EXPECT_TRUE(IsUnaligned(ElementType::kBF16, {768, 4}));
  EXPECT_FALSE(IsUnaligned(ElementType::kF32, {768, 4}));
  Rates rates = SimpleRates(0);
  rates.unaligned_share.value = 0.5;
  LocalWork dot{.unit = Unit::kContraction, .work = {.flops = 1000}};
  const double aligned = FusedSeconds(dot, rates);
  dot.unaligned = true;
  EXPECT_NEAR(FusedSeconds(dot, rates), 2 * aligned, 1e-15);
}

TEST(KernelSecondsTest, TheSlowerOfArithmeticAndMemory) {
  const Rates rates = SimpleRates(0);
  EXPECT_NEAR(
      KernelSeconds(LocalWork{.work = {.flops = 100, .bytes = 300}}, rates),
      1e-6 + 300e-9, 1e-15);
  EXPECT_NEAR(KernelSeconds(LocalWork{.work = {.flops = 100,
                                               .transcendentals = 100,
                                               .bytes = 300}},
                            rates),
              1e-6 + 1100e-9, 1e-15);
  EXPECT_NEAR(FusedSeconds({.work = {.flops = 100, .bytes = 300}}, rates),
              100e-9, 1e-15);
}

TEST(KernelSecondsTest, OutOfOrderIsSlower) {
  Rates rates = SimpleRates(0);
  rates.strided_share.value = 0.25;
  EXPECT_NEAR(
      KernelSeconds(LocalWork{.work = {.bytes = 300}, .strided = true}, rates),
      1e-6 + 1200e-9, 1e-15);
}

TEST(KernelSecondsTest, CoresPackWhatTheyContract) {
  Rates rates = SimpleRates(0);
  rates.strided_share.value = 0.5;
  LocalWork dot{.unit = Unit::kContraction,
                .work = {.flops = 1000, .bytes = 300}};
  EXPECT_NEAR(KernelSeconds(dot, rates), 1e-6 + 1000e-9, 1e-15);
  rates.batch_together.value = 0;
  EXPECT_NEAR(KernelSeconds(dot, rates), 1e-6 + 1300e-9, 1e-15);
  dot.repacked_bytes = 100;  // Read and written, at half the rate.
  EXPECT_NEAR(KernelSeconds(dot, rates), 1e-6 + 1700e-9, 1e-15);
}

TEST(KernelSecondsTest, SmallPartsOfABatchAreSlow) {
  Rates rates = SimpleRates(0);
  rates.batch_together.value = 0;
  rates.matmul[ElementType::kF32].points = {{100, 1e8}, {1000, 1e9}};
  const LocalWork whole{.unit = Unit::kContraction, .work = {.flops = 1000}};
  LocalWork parts = whole;
  parts.batch = 10;
  EXPECT_NEAR(FusedSeconds(whole, rates), 1e-6, 1e-15);
  EXPECT_NEAR(FusedSeconds(parts, rates), 1e-5, 1e-15);
  rates.batch_together.value = 1;
  EXPECT_NEAR(FusedSeconds(parts, rates), 1e-6, 1e-15);
}

}  // namespace
}  // namespace meshwright
