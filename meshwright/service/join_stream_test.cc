// What is refused before it becomes a link.
#include "meshwright/service/join_stream.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/joined_for_test.h"
#include "proto/worker.grpc.pb.h"

namespace meshwright {
namespace {

absl::Status JoinWith(const CoordinatorForTest& coordinator,
                      const std::vector<proto::WorkerReport>& reports) {
  const auto stub =
      proto::Workers::NewStub(OpenChannel(coordinator.address(), {}).value());
  grpc::ClientContext context;
  const auto stream = stub->Join(&context);
  for (const proto::WorkerReport& report : reports) stream->Write(report);
  proto::WorkerCommand command;
  while (stream->Read(&command)) {
  }
  return FromGrpc(stream->Finish());
}

TEST(JoinStreamTest, WorkersMustSayHelloInTime) {
  const CoordinatorForTest coordinator(
      {.hello_timeout = absl::Milliseconds(200)});
  EXPECT_EQ(JoinWith(coordinator, {}),
            absl::DeadlineExceededError("no hello came in time"));
}

TEST(JoinStreamTest, HelloComesFirst) {
  const CoordinatorForTest coordinator;
  proto::WorkerReport report;
  report.mutable_step();
  EXPECT_EQ(JoinWith(coordinator, {report}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(JoinStreamTest, FieldsAreBounded) {
  const CoordinatorForTest coordinator;
  proto::Hello hello;
  hello.set_host(std::string(10000, 'x'));
  const absl::Status host = coordinator.Join({.hello = hello}).status();
  EXPECT_EQ(host.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_LT(host.message().size(), 1000);
  hello.set_host("host");
  hello.set_devices(-1);
  EXPECT_EQ(coordinator.Join({.hello = hello}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace meshwright
