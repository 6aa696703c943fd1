// Tensors in memory that a client shares, as they go through the service.
#include "meshwright/service/regions.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/memfd_for_test.h"
#include "meshwright/base/message_for_test.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/job_server.h"
#include "meshwright/service/jobs_for_test.h"
#include "proto/service.grpc.pb.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMemoryBytes = 1 << 20;

proto::Region RegionAt(int64_t offset, int64_t size) {
  proto::Region region;
  region.set_offset(offset);
  region.set_size(size);
  return region;
}

// The tensor "x", u8[100], of which nothing but the place is sent.
proto::NamedTensorPart PartAt(const proto::Region& region) {
  proto::NamedTensorPart part;
  part.set_name("x");
  part.set_type("u8");
  part.add_dimensions(100);
  part.set_last(true);
  *part.mutable_region() = region;
  return part;
}

class RegionsTest : public ::testing::Test {
 protected:
  void Start(std::shared_ptr<const SharedMemory> memory) {
    auto server =
        JobServer::Start({.jobs = &jobs_, .memory = std::move(memory)});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    stub_ = proto::Jobs::NewStub(
        OpenChannel(absl::StrCat("127.0.0.1:", server_->port()), {}).value());
    JobCall call;
    job_ = jobs_.Load("m", "{}", call).value();
  }

  absl::StatusOr<proto::StepReply> RunStep(const proto::NamedTensorPart& part) {
    proto::StepRequest request;
    request.mutable_begin()->set_job(job_);
    request.mutable_begin()->add_fetch("x");
    if (into_.size() > 0) *request.mutable_begin()->add_into() = into_;
    *request.add_tensors() = part;
    grpc::ClientContext context;
    AddCredentials({}, context);
    proto::StepReply reply;
    const absl::Status status =
        FromGrpc(stub_->RunStep(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  absl::StatusOr<std::vector<proto::NamedTensorPart>> Fetch(
      const std::vector<proto::Region>& into) {
    proto::FetchRequest request;
    request.set_job(job_);
    request.add_names("x");
    for (const proto::Region& region : into) *request.add_into() = region;
    grpc::ClientContext context;
    AddCredentials({}, context);
    const auto stream = stub_->Fetch(&context, request);
    std::vector<proto::NamedTensorPart> parts;
    proto::NamedTensorPart part;
    while (stream->Read(&part)) parts.push_back(part);
    const absl::Status status = FromGrpc(stream->Finish());
    if (!status.ok()) return status;
    return parts;
  }

  const std::shared_ptr<const SharedMemory> memory_ =
      SharedMemory::Open(MakeMemfdForTest(kMemoryBytes)).value();
  JobsForTest jobs_;
  int64_t job_ = 0;
  proto::Region into_;
  std::unique_ptr<JobServer> server_;
  std::unique_ptr<proto::Jobs::Stub> stub_;
};

TEST_F(RegionsTest, TensorsComeAndGo) {
  Start(memory_);
  const absl::Span<std::byte> given = memory_->Find(4096, 100).value();
  std::memset(given.data(), 'g', given.size());
  into_ = RegionAt(8192, 100);
  const auto reply = RunStep(PartAt(RegionAt(4096, 100)));
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->tensors_size(), 1);
  const proto::NamedTensorPart& part = reply->tensors(0);
  EXPECT_EQ(part.SerializeAsString(),
            PartAt(into_).SerializeAsString());  // And no bytes.
  const absl::Span<std::byte> found = memory_->Find(8192, 101).value();
  EXPECT_EQ(found[0], std::byte{'g'});
  EXPECT_EQ(found[99], std::byte{'g'});
  EXPECT_EQ(found[100], std::byte{});
  EXPECT_EQ(jobs_.lent_count, 1);

  const auto fetched = Fetch({RegionAt(0, 100)});
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(memory_->Find(0, 1).value()[0], std::byte{'g'});
  // Without a region, bytes.
  for (const auto& bytes : {Fetch({}), Fetch({proto::Region()})}) {
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_FALSE(bytes->at(0).has_region());
    EXPECT_EQ(bytes->at(0).bytes(), std::string(100, 'g'));
  }
}

TEST_F(RegionsTest, WhatIsNotThereIsRefused) {
  Start(memory_);
  const auto error = [&](const proto::NamedTensorPart& part) {
    const absl::Status status = RunStep(part).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(status);
  };
  EXPECT_EQ(error(PartAt(RegionAt(kMemoryBytes - 99, 100))),
            "shared memory has 1048576 bytes, not 100 from byte 1048477");
  EXPECT_EQ(error(PartAt(RegionAt(-1, 100))),
            "shared memory has 1048576 bytes, not 100 from byte -1");
  EXPECT_EQ(error(PartAt(RegionAt(0, 99))),
            "tensor \"x\" has 100 bytes, its memory 99");
  proto::NamedTensorPart both = PartAt(RegionAt(0, 100));
  both.set_bytes("b");
  EXPECT_EQ(error(both), "tensor \"x\" is in shared memory and in parts");
  proto::NamedTensorPart later = PartAt(RegionAt(0, 100));
  later.set_offset(50);
  EXPECT_EQ(error(later), "tensor \"x\" is in shared memory and in parts");

  ASSERT_TRUE(RunStep(PartAt(RegionAt(0, 100))).ok());
  EXPECT_EQ(MessageOf(Fetch({RegionAt(0, 10)}).status()),
            "x has 100 bytes, the memory for it 10");
  EXPECT_EQ(MessageOf(Fetch({RegionAt(0, 100), RegionAt(0, 100)}).status()),
            "2 regions for 1 tensors");
  EXPECT_THAT(MessageOf(Fetch({RegionAt(kMemoryBytes, 100)}).status()),
              HasSubstr("shared memory has"));
}

TEST_F(RegionsTest, OthersShareNothing) {
  Start(nullptr);
  EXPECT_EQ(MessageOf(RunStep(PartAt(RegionAt(0, 100))).status()),
            "no memory is shared with this client");
}

class GivenUpCall : public JobCall {
 public:
  bool cancelled() const override { return true; }
};

TEST_F(RegionsTest, AnAnswerWaitsForAllWhoHold) {
  Regions regions(memory_);
  std::shared_ptr<const void> held = regions.Hold();
  std::atomic<bool> is_over = false;
  std::thread wait([&] {
    JobCall call;
    regions.AwaitRelease(call);
    is_over = true;
  });
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_FALSE(is_over);
  held = nullptr;
  wait.join();

  // Who has given up does not wait.
  Regions given_up(memory_);
  held = given_up.Hold();
  given_up.AwaitRelease(GivenUpCall());
}

TEST_F(RegionsTest, WhoHoldsKeepsTheMemory) {
  auto regions = std::make_unique<Regions>(
      SharedMemory::Open(MakeMemfdForTest(4096)).value());
  const absl::Span<std::byte> bytes = regions->Find(RegionAt(0, 4096)).value();
  const std::shared_ptr<const void> held = regions->Hold();
  regions = nullptr;
  bytes[0] = std::byte{1};
  EXPECT_EQ(bytes[0], std::byte{1});
}

}  // namespace
}  // namespace meshwright
