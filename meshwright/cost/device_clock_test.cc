#include "meshwright/cost/device_clock.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

Rates SomeRates() {
  Rates rates;
  rates.launch_seconds.value = 1;
  rates.graph_seconds.value = 3;
  rates.library_seconds.value = 100;
  rates.overlap.value = 1;
  return rates;
}

HostSeconds HostSecondsOf(const std::vector<Opcode>& kernels) {
  const Rates rates = SomeRates();
  DeviceClock clock(rates);
  for (const Opcode opcode : kernels) {
    Instruction root;
    root.opcode = opcode;
    clock.RunKernel(root, 0, 0);
  }
  return clock.host_seconds();
}

TEST(DeviceClockTest, KernelsThatFollowEachOtherAreAGraph) {
  const Opcode add = Opcode::kAdd;
  EXPECT_EQ(HostSecondsOf({add, add}).sum(), 2);
  std::vector<Opcode> many(7, add);
  many.push_back(Opcode::kDot);
  const HostSeconds graph = HostSecondsOf(many);
  EXPECT_NEAR(graph.each, 3 + 8 * 0.125, 1e-9);
  EXPECT_NEAR(graph.once, 8 * 0.275, 1e-9);
}

TEST(DeviceClockTest, LibrariesLieBetweenGraphs) {
  std::vector<Opcode> kernels(8, Opcode::kAdd);
  kernels.insert(kernels.end(), {Opcode::kConvolution, Opcode::kAdd});
  EXPECT_NEAR(HostSecondsOf(kernels).each, 4 + 100 + 1, 1e-9);
}

TEST(DeviceClockTest, CollectivesAndLoopsLieBetweenGraphs) {
  const Rates rates = SomeRates();
  DeviceClock clock(rates);
  const Instruction add;
  for (int i = 0; i < 8; ++i) clock.RunKernel(add, 0, 0);
  clock.RunCollective(0, 0);
  for (int i = 0; i < 8; ++i) clock.RunKernel(add, 0, 0);
  clock.RunRegion(0, 0, {.each = 20, .once = 5});
  clock.RunKernel(add, 0, 0);
  EXPECT_NEAR(clock.host_seconds().each, 4 + 1 + 4 + 20 + 1, 1e-9);
  EXPECT_NEAR(clock.host_seconds().once, 2.2 + 2.2 + 5, 1e-9);
}

TEST(DeviceClockTest, GraphsOfALoopAreUpdatedOnce) {
  const HostSeconds loop = HostSeconds{.each = 4, .once = 2.2}.Times(10);
  EXPECT_NEAR(loop.sum(), 42.2, 1e-9);
}

TEST(DeviceClockTest, AHostAheadCountsWhereItTakesLonger) {
  const Rates rates = SomeRates();
  const Instruction add;
  DeviceClock clock(rates);
  EXPECT_EQ(clock.RunKernel(add, 0, 0.25), 0.25);
  EXPECT_EQ(clock.RunKernel(add, 0, 0.25), 0.5);
  EXPECT_EQ(clock.seconds(), 2);
  EXPECT_EQ(clock.idle_seconds(), 1.5);
}

TEST(DeviceClockTest, ArgumentsAreTheHostsIfItLaunchesKernels) {
  Rates rates = SomeRates();
  rates.argument_seconds.value = 0.5;
  const Instruction add;
  for (const bool launches : {true, false}) {
    if (!launches) rates.launch_seconds.value = rates.graph_seconds.value = 0;
    DeviceClock clock(rates);
    clock.RunKernel(add, 0, 50);
    EXPECT_EQ(clock.TakeArrays(4), launches ? 0 : 2);
    EXPECT_EQ(clock.seconds(), launches ? 50 : 52);
    // What precedes the first launch takes as long as 27 launches.
    EXPECT_EQ(clock.host_seconds().sum(), launches ? 1 + 27 + 2 : 0);
  }
}

TEST(DeviceClockTest, CollectivesRunBesideKernels) {
  const Rates rates = SomeRates();
  const Instruction add;
  DeviceClock clock(rates);
  const double made = clock.RunKernel(add, 0, 10);
  EXPECT_EQ(clock.RunCollective(made, 30), 40);
  EXPECT_EQ(clock.RunKernel(add, 0, 10), 20);
  EXPECT_EQ(clock.RunKernel(add, 40, 10), 50);
}

TEST(DeviceClockTest, CollectivesStopKernelsAsFarAsTheyNeedTheDevice) {
  Rates rates = SomeRates();
  rates.overlap.value = 0.75;
  const Instruction add;
  DeviceClock clock(rates);
  clock.RunCollective(0, 40);
  EXPECT_EQ(clock.RunKernel(add, 0, 5), 15);
}

TEST(DeviceClockTest, CollectivesAreNotMovedFarAhead) {
  const Rates rates = SomeRates();
  const Instruction add;
  DeviceClock clock(rates);
  for (int i = 0; i < 100; ++i) clock.RunKernel(add, 0, 1);
  EXPECT_GT(clock.RunCollective(0, 1), 50);
}

}  // namespace
}  // namespace meshwright
