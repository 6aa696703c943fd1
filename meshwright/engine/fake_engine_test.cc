#include "meshwright/engine/fake_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const BufferShape kPair{ElementType::kU8, {2}};

BufferPtr Send(FakeClient& client, std::vector<uint8_t> values) {
  auto buffer = client.FromHost({.bytes = AsBytes(values), .shape = kPair},
                                *client.devices()[0]);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

std::vector<uint8_t> Fetch(const Buffer& buffer) {
  std::vector<uint8_t> values(2);
  EXPECT_TRUE(buffer.ReadToHost(AsWritableBytes(values)).ok());
  return values;
}

// Swaps the two values, in the input's memory if `donates`.
FakeFunction Swap(bool donates) {
  FakeFunction swap;
  swap.signature = {.parameters = {kPair}, .outputs = {kPair}};
  if (donates) swap.signature.donations = {{.parameter = 0, .output = 0}};
  swap.run = [](const FakeCall& call) {
    call.outputs[0][0][0] = call.inputs[0][0][1];
    call.outputs[0][0][1] = call.inputs[0][0][0];
    return absl::OkStatus();
  };
  return swap;
}

std::unique_ptr<Executable> Compile(FakeClient& client,
                                    const std::string& name) {
  auto executable = client.Compile({"fake", name}, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  return *std::move(executable);
}

absl::StatusOr<Execution> Start(Executable& executable,
                                const BufferPtr& input) {
  return executable.ExecuteSingle({input.get()});
}

TEST(FakeEngineTest, MemoryThatDoesNotFitIsExhausted) {
  FakeClient client({.devices = 2, .memory_limit_bytes = 3});
  client.Register("swap", Swap(/*donates=*/false));
  const auto swap = Compile(client, "swap");
  const BufferPtr a = Send(client, {1, 2});
  const std::vector<uint8_t> values(2);
  const absl::Status status =
      client
          .FromHost({.bytes = AsBytes(values), .shape = kPair},
                    *client.devices()[0])
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("device 0: needs 2 bytes, 1 of 3 are free"));
  EXPECT_TRUE(client
                  .FromHost({.bytes = AsBytes(values), .shape = kPair},
                            *client.devices()[1])
                  .ok());
  EXPECT_EQ(Start(*swap, a).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(a->IsDeleted());
}

TEST(FakeEngineTest, DonationNeedsNoMoreMemory) {
  FakeClient client({.devices = 1, .memory_limit_bytes = 3});
  client.Register("swap", Swap(/*donates=*/true));
  const auto swap = Compile(client, "swap");
  BufferPtr a = Send(client, {1, 2});
  for (int step = 0; step < 3; ++step) {
    a = std::move(Start(*swap, a)->outputs[0][0]);
  }
  EXPECT_THAT(Fetch(*a), ElementsAre(2, 1));
  const auto memory = client.devices()[0]->Memory();
  EXPECT_EQ(memory->bytes_in_use, 2);
  EXPECT_EQ(memory->peak_bytes_in_use, 2);
  EXPECT_EQ(memory->limit_bytes, 3);
  a.reset();
  EXPECT_EQ(client.devices()[0]->Memory()->bytes_in_use, 0);
}

TEST(FakeEngineTest, TheThirdExecuteFailsWhenAskedTo) {
  FakeClient client({});
  client.Register("swap", Swap(/*donates=*/true));
  const auto swap = Compile(client, "swap");
  client.Fail({FakeFault::Point::kExecute, 3, absl::UnavailableError("gone")});
  BufferPtr a = Send(client, {1, 2});
  for (int step = 1; step <= 4; ++step) {
    auto execution = Start(*swap, a);
    if (step == 3) {
      EXPECT_EQ(execution.status(), absl::UnavailableError("gone"));
      EXPECT_FALSE(a->IsDeleted());
    } else {
      ASSERT_TRUE(execution.ok()) << execution.status();
      a = std::move(execution->outputs[0][0]);
    }
  }
  EXPECT_THAT(Fetch(*a), ElementsAre(2, 1));
}

TEST(FakeEngineTest, AFailedRunSpoilsWhatFollowsFromIt) {
  FakeClient client({});
  client.Register("swap", Swap(/*donates=*/false));
  const auto swap = Compile(client, "swap");
  client.Fail({FakeFault::Point::kRun, 1, absl::DataLossError("bits")});
  const BufferPtr a = Send(client, {1, 2});
  const auto first = Start(*swap, a);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start(*swap, first->outputs[0][0]);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->done[0]->Await(), absl::DataLossError("bits"));
  EXPECT_EQ(second->done[0]->Await(), absl::DataLossError("bits"));
  EXPECT_TRUE(Start(*swap, a)->done[0]->Await().ok());
}

TEST(FakeEngineTest, CompileAndTransfersFailWhenAskedTo) {
  FakeClient client({});
  client.Register("swap", Swap(/*donates=*/false));
  client.Fail({FakeFault::Point::kCompile, 1, absl::InternalError("c")});
  client.Fail({FakeFault::Point::kFromHost, 2, absl::InternalError("h")});
  EXPECT_EQ(client.Compile({"fake", "swap"}, {}).status(),
            absl::InternalError("c"));
  EXPECT_TRUE(client.Compile({"fake", "swap"}, {}).ok());
  Send(client, {1, 2});
  const std::vector<uint8_t> values(2);
  EXPECT_EQ(client
                .FromHost({.bytes = AsBytes(values), .shape = kPair},
                          *client.devices()[0])
                .status(),
            absl::InternalError("h"));
}

TEST(FakeEngineTest, ExecutionIsAsynchronous) {
  FakeClient client({});
  std::promise<void> go;
  FakeFunction wait = Swap(/*donates=*/true);
  wait.run = [gone = go.get_future().share()](const FakeCall&) {
    gone.wait();
    return absl::OkStatus();
  };
  client.Register("wait", wait);
  const auto program = Compile(client, "wait");
  const auto execution = Start(*program, Send(client, {1, 2}));
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_FALSE(execution->done[0]->IsReady());
  const auto ready = execution->outputs[0][0]->Ready();
  EXPECT_FALSE((*ready)->IsReady());
  go.set_value();
  EXPECT_TRUE((*ready)->Await().ok());
  EXPECT_TRUE(execution->done[0]->IsReady());
}

TEST(FakeEngineTest, OfATeamOnlyTheOwnDevicesRun) {
  FakeClient client({.devices = 2, .process = 1, .processes = 2});
  EXPECT_THAT(client.all_devices(),
              ElementsAre(DevicePlace{0, 0}, DevicePlace{1, 0},
                          DevicePlace{2, 1}, DevicePlace{3, 1}));
  FakeFunction count;
  count.signature = {.parameters = {kPair}, .outputs = {kPair}};
  client.Register("count", count);
  const auto compiled =
      client.Compile({.format = "fake", .code = "count"},
                     {.num_replicas = 3, .device_ids = {0, 3, 2}});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ((*compiled)->devices().size(), 2u);
  EXPECT_EQ((*compiled)->devices()[0]->id(), 3);
  EXPECT_EQ((*compiled)->devices()[1]->id(), 2);
}

}  // namespace
}  // namespace meshwright
