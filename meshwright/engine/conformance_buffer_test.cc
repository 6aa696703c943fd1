// What every engine must do alike: devices and buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/engine/client.h"
#include "meshwright/engine/conformance_fixture.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kGone = absl::StatusCode::kFailedPrecondition;

TEST_P(ConformanceTest, DevicesAreNumberedAndDescribed) {
  if (!Open(3)) GTEST_SKIP() << "needs 3 devices";
  EXPECT_FALSE(client_->platform_name().empty());
  EXPECT_FALSE(client_->platform_version().empty());
  ASSERT_EQ(client_->devices().size(), 3u);
  ASSERT_EQ(client_->all_devices().size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(device(i).id(), i);
    EXPECT_EQ(client_->all_devices()[i], (DevicePlace{.id = i}));
    EXPECT_FALSE(device(i).kind().empty());
    EXPECT_FALSE(device(i).info().description.empty());
    const auto memory = device(i).Memory();
    EXPECT_TRUE(memory.ok() || absl::IsUnimplemented(memory.status()))
        << memory.status();
  }
}

TEST_P(ConformanceTest, EveryElementTypeMakesTheRoundTrip) {
  int types = 0;
  for (int number = 0; number < 64; ++number) {
    const BufferShape shape{static_cast<ElementType>(number), {3, 5}};
    if (!IsBufferType(shape.type)) continue;
    SCOPED_TRACE(shape.ToString());
    ++types;
    // 0 and 1 are values of every type, however narrow.
    std::vector<uint8_t> values(shape.host_bytes());
    for (size_t i = 0; i < values.size(); ++i) values[i] = (i * i + i / 3) % 2;
    const auto buffer =
        client_->FromHost({.bytes = AsBytes(values), .shape = shape}, device());
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ((*buffer)->shape(), shape);
    const auto bytes = (*buffer)->DeviceBytes();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_GT(*bytes, 0);
    std::vector<uint8_t> back(values.size(), 0xee);
    const absl::Status status = (*buffer)->ReadToHost(AsWritableBytes(back));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(back, values);
  }
  EXPECT_EQ(types, 28);
}

TEST_P(ConformanceTest, EveryRankMakesTheRoundTrip) {
  for (const std::vector<int64_t>& dimensions :
       std::vector<std::vector<int64_t>>{
           {}, {0}, {1}, {7}, {0, 3}, {3, 0, 2}, {2, 3, 4}, {300, 1001}}) {
    const BufferShape shape{ElementType::kS32, dimensions};
    SCOPED_TRACE(shape.ToString());
    std::vector<int32_t> values(shape.element_count());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int32_t>(i * 2654435761u);
    }
    const BufferPtr buffer = Send(shape.type, dimensions, values);
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(Fetch<int32_t>(*buffer), values);
  }
}

TEST_P(ConformanceTest, HostMemoryWithoutOwnerMayChangeAfterTheCall) {
  std::vector<float> values(100000, 1.0f);
  const BufferPtr buffer = Floats({100000}, values);
  std::fill(values.begin(), values.end(), 2.0f);
  EXPECT_EQ(Fetch(*buffer), std::vector<float>(100000, 1.0f));
}

struct alignas(64) AlignedFloats {
  float values[4] = {1, 2, 3, 4};
};

TEST_P(ConformanceTest, HostMemoryWithOwnerIsKeptAndNeverWritten) {
  const auto accumulate = Compile("accumulate");
  const auto host = std::make_shared<AlignedFloats>();
  BufferPtr state = *client_->FromHost(
      {.bytes = {reinterpret_cast<const std::byte*>(host->values), 16},
       .shape = {ElementType::kF32, {4}},
       .owner = host},
      device());
  const BufferPtr one = Floats({4}, {1, 1, 1, 1});
  for (int step = 0; step < 3; ++step) {
    state = std::move(Outputs(*accumulate, {state.get(), one.get()})[0]);
  }
  EXPECT_THAT(Fetch(*state), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(host->values, ElementsAre(1, 2, 3, 4));
  state.reset();
  for (int i = 0; i < 1000 && host.use_count() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(host.use_count(), 1);
}

TEST_P(ConformanceTest, HostArraysThatDoNotFitAreInvalid) {
  const std::vector<std::byte> bytes(24);
  const auto code = [&](const BufferShape& shape) {
    return client_->FromHost({.bytes = bytes, .shape = shape}, device())
        .status()
        .code();
  };
  EXPECT_EQ(code({ElementType::kF32, {2, 3}}), absl::StatusCode::kOk);
  EXPECT_EQ(code({ElementType::kF32, {2, 4}}), kBad);
  EXPECT_EQ(code({ElementType::kF64, {2, 3}}), kBad);
  EXPECT_EQ(code({ElementType::kF32, {-2, -3}}), kBad);
  EXPECT_EQ(code({ElementType::kF32, {int64_t{1} << 62, int64_t{1} << 62}}),
            kBad);
  EXPECT_EQ(code({ElementType::kToken, {}}), kBad);
  EXPECT_EQ(code({ElementType::kU1, {24}}), kBad);
  EXPECT_EQ(code({static_cast<ElementType>(99), {24}}), kBad);
}

TEST_P(ConformanceTest, DestinationsOfTheWrongSizeAreInvalid) {
  const BufferPtr buffer = Floats({3}, {1, 2, 3});
  for (const size_t size : {0u, 11u, 13u}) {
    std::vector<std::byte> small(size);
    EXPECT_EQ(buffer->ToHost(absl::MakeSpan(small)).status().code(), kBad);
  }
}

TEST_P(ConformanceTest, DeletedBuffersAreACleanError) {
  const auto add = Compile("add");
  const BufferPtr a = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  a->Delete();
  a->Delete();
  EXPECT_TRUE(a->IsDeleted());
  std::vector<float> values(6);
  EXPECT_EQ(a->ReadToHost(AsWritableBytes(values)).code(), kGone);
  EXPECT_EQ(a->Ready().status().code(), kGone);
  EXPECT_EQ(a->Address().status().code(), kGone);
  EXPECT_EQ(a->DeviceBytes().status().code(), kGone);
  EXPECT_EQ(a->CopyTo(device()).status().code(), kGone);
  const absl::Status status = Start(*add, {a.get(), a.get()}).status();
  EXPECT_EQ(status.code(), kGone);
  EXPECT_THAT(std::string(status.message()), HasSubstr("argument 0"));
}

TEST_P(ConformanceTest, BuffersAreCopiedBetweenDevices) {
  if (!Open(2)) GTEST_SKIP() << "needs 2 devices";
  const BufferPtr a = Floats({2, 2}, {1, 2, 3, 4});
  for (const int target : {0, 1}) {
    const auto copy = a->CopyTo(device(target));
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(&(*copy)->device(), &device(target));
    EXPECT_EQ((*copy)->shape(), a->shape());
    EXPECT_THAT(Fetch(**copy), ElementsAre(1, 2, 3, 4));
    EXPECT_NE(*(*copy)->Address(), *a->Address());
  }
  const auto stranger = *GetParam().create(1);
  EXPECT_EQ(a->CopyTo(*stranger->devices()[0]).status().code(), kBad);
}

TEST_P(ConformanceTest, BuffersOutliveTheExecutableAndTheClient) {
  auto accumulate = Compile("accumulate");
  BufferPtr state = Floats({4}, {1, 2, 3, 4});
  const BufferPtr one = Floats({4}, {1, 1, 1, 1});
  auto execution = Start(*accumulate, {state.get(), one.get()});
  ASSERT_TRUE(execution.ok()) << execution.status();
  state.reset();
  accumulate.reset();
  client_.reset();
  EXPECT_TRUE(execution->done[0]->Await().ok());
  EXPECT_THAT(Fetch(*execution->outputs[0][0]), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(execution->outputs[0][0]->device().id(), 0);
}

TEST_P(ConformanceTest, MovedFromHandlesAreEmpty) {
  BufferPtr a = Floats({1}, {3});
  const BufferPtr b = std::move(a);
  EXPECT_EQ(a, nullptr);
  a = Floats({1}, {4});
  EXPECT_THAT(Fetch(*a), ElementsAre(4));
  EXPECT_THAT(Fetch(*b), ElementsAre(3));
}

}  // namespace
}  // namespace meshwright
