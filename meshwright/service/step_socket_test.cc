#include "meshwright/service/step_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "meshwright/base/memfd_for_test.h"
#include "meshwright/service/jobs_for_test.h"
#include "meshwright/service/limits.h"
#include "proto/service.pb.h"

namespace meshwright {
namespace {

struct StepFrame {
  uint32_t code = 0;
  std::string bytes;
};

// The script's end.
class ScriptEnd {
 public:
  explicit ScriptEnd(int fd) : fd_(fd) {
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~ScriptEnd() { Close(); }
  ScriptEnd(const ScriptEnd&) = delete;

  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void SendRaw(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t count =
          ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<size_t>(count);
    }
  }
  void Send(const std::string& bytes, uint32_t protocol = kProtocol,
            std::optional<uint32_t> size = std::nullopt) {
    const std::array<uint32_t, 2> header = {
        size.value_or(static_cast<uint32_t>(bytes.size())), protocol};
    std::string frame(sizeof(header), '\0');
    std::memcpy(frame.data(), header.data(), sizeof(header));
    SendRaw(frame + bytes);
  }
  // Nothing at the end of the connection.
  std::optional<StepFrame> Receive() {
    std::array<uint32_t, 2> header = {};
    if (!ReceiveAll(header.data(), sizeof(header))) return std::nullopt;
    StepFrame frame = {.code = header[1], .bytes = std::string(header[0], 0)};
    if (!ReceiveAll(frame.bytes.data(), frame.bytes.size())) {
      return std::nullopt;
    }
    return frame;
  }

 private:
  bool ReceiveAll(void* data, size_t size) {
    return size == 0 ||
           ::recv(fd_, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }

  int fd_;
};

proto::StepRequest RequestOf(int64_t job, int64_t count) {
  proto::StepRequest request;
  request.mutable_begin()->set_job(job);
  request.mutable_begin()->set_count(count);
  return request;
}

proto::NamedTensorPart NamedBytes(const std::string& name,
                                  const std::string& bytes) {
  proto::NamedTensorPart part;
  part.set_name(name);
  part.set_type("u8");
  part.add_dimensions(static_cast<int64_t>(bytes.size()));
  part.set_bytes(bytes);
  part.set_last(true);
  return part;
}

class StepSocketTest : public ::testing::Test {
 protected:
  void SetUp() override { Connect(); }

  void Connect() {
    socket_ = nullptr;
    std::array<int, 2> ends = {};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    script_ = std::make_unique<ScriptEnd>(ends[0]);
    engine_fd_ = ends[1];
    auto socket =
        StepSocket::Start({.fd = ends[1],
                           .jobs = &jobs_,
                           .memory = memory_,
                           .on_malformed = [this](const absl::Status& why) {
                             ++malformed_;
                             why_ = std::string(why.message());
                           }});
    ASSERT_TRUE(socket.ok()) << socket.status();
    socket_ = *std::move(socket);
    JobCall call;
    job_ = jobs_.Load("m", "{}", call).value();
  }

  proto::StepReply Ask(const proto::StepRequest& request) {
    script_->Send(request.SerializeAsString());
    const std::optional<StepFrame> frame = script_->Receive();
    proto::StepReply reply;
    EXPECT_TRUE(frame.has_value());
    if (!frame.has_value()) return reply;
    EXPECT_EQ(frame->code, 0) << frame->bytes;
    EXPECT_TRUE(reply.ParseFromString(frame->bytes));
    return reply;
  }

  // Why what was sent ended the connection.
  std::string Ended() {
    EXPECT_FALSE(script_->Receive().has_value());
    socket_ = nullptr;  // Its thread has told.
    EXPECT_EQ(malformed_, 1);
    malformed_ = 0;
    return why_;
  }

  const std::shared_ptr<const SharedMemory> memory_ =
      SharedMemory::Open(MakeMemfdForTest(1 << 20)).value();
  JobsForTest jobs_;
  int64_t job_ = 0;
  std::atomic<int> malformed_ = 0;
  std::string why_;
  int engine_fd_ = -1;
  std::unique_ptr<ScriptEnd> script_;
  std::unique_ptr<StepSocket> socket_;
};

TEST_F(StepSocketTest, StepsAndWhatIsFetched) {
  proto::StepRequest request = RequestOf(job_, 2);
  request.mutable_begin()->add_fetch("x");
  for (const size_t size : {size_t{3}, size_t{0}, size_t{2} << 20}) {
    const std::string bytes(size, 'x');
    request.clear_tensors();
    *request.add_tensors() = NamedBytes("x", bytes);
    const proto::StepReply reply = Ask(request);
    ASSERT_EQ(reply.steps_size(), 2);
    EXPECT_EQ(reply.steps(0).seconds(), 0.5);
    ASSERT_GE(reply.tensors_size(), 1);
    EXPECT_EQ(reply.tensors(0).name(), "x");
    EXPECT_EQ(reply.tensors(0).bytes(), bytes);
  }
  EXPECT_EQ(malformed_, 0);
}

TEST_F(StepSocketTest, TensorsInSharedMemory) {
  std::memset(memory_->Find(0, 100).value().data(), 'g', 100);
  proto::StepRequest request = RequestOf(job_, 1);
  request.mutable_begin()->add_fetch("x");
  proto::Region* const into = request.mutable_begin()->add_into();
  into->set_offset(4096);
  into->set_size(100);
  proto::NamedTensorPart& part = *request.add_tensors();
  part = NamedBytes("x", std::string(100, 'b'));
  part.clear_bytes();
  part.mutable_region()->set_size(100);
  const proto::StepReply reply = Ask(request);
  ASSERT_EQ(reply.tensors_size(), 1);
  EXPECT_EQ(reply.tensors(0).region().offset(), 4096);
  EXPECT_EQ(memory_->Find(4195, 1).value()[0], std::byte{'g'});
  EXPECT_EQ(jobs_.lent_count, 1);
}

TEST_F(StepSocketTest, ErrorsAreAnswers) {
  script_->Send(RequestOf(77, 1).SerializeAsString());
  const std::optional<StepFrame> frame = script_->Receive();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->code, static_cast<uint32_t>(absl::StatusCode::kNotFound));
  EXPECT_EQ(frame->bytes, "there is no job 77");
  script_->Send("");  // No job at all.
  EXPECT_EQ(script_->Receive()->bytes, "there is no job 0");
  EXPECT_EQ(Ask(RequestOf(job_, 1)).steps_size(), 1);
}

TEST_F(StepSocketTest, WhatIsNoFrameEndsTheConnection) {
  script_->Send("x", /*protocol=*/2);
  EXPECT_EQ(Ended(), "a frame of protocol 2, not 1");
  Connect();
  script_->Send("", kProtocol, /*size=*/0xffffffff);
  EXPECT_EQ(Ended(), "a frame of 4294967295 bytes; at most 4259840");
  Connect();
  script_->Send("\xff\xff\xff");
  EXPECT_EQ(Ended(), "a frame of 3 bytes that is no request for steps");
}

TEST_F(StepSocketTest, AScriptThatGoesIsNoError) {
  script_->Send("abc", kProtocol, /*size=*/1000);
  script_->Close();
  socket_ = nullptr;
  EXPECT_EQ(malformed_, 0);
}

TEST_F(StepSocketTest, AScriptThatGoesEndsItsSteps) {
  script_->Send(RequestOf(job_, int64_t{1} << 40).SerializeAsString());
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(jobs_.cancelled, 0);
  script_->Close();
  for (int i = 0; i < 1000 && jobs_.cancelled == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(jobs_.cancelled, 1);
}

TEST_F(StepSocketTest, TheEndCancelsTheCallInProgress) {
  script_->Send(RequestOf(job_, int64_t{1} << 40).SerializeAsString());
  absl::SleepFor(absl::Milliseconds(50));
  socket_ = nullptr;
  EXPECT_EQ(jobs_.cancelled, 1);
  EXPECT_FALSE(script_->Receive().has_value());
}

TEST_F(StepSocketTest, ProgramsThatAreStartedDoNotHaveIt) {
  EXPECT_EQ(::fcntl(engine_fd_, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(StepSocketTest, OtherFilesAreRefused) {
  std::array<int, 2> pipe = {};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::array<int, 2> datagrams = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams.data()), 0);
  const int alone = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const int tcp = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int fd : {pipe[0], datagrams[0], alone, tcp, 1 << 20}) {
    const auto socket = StepSocket::Start({.fd = fd, .jobs = &jobs_});
    EXPECT_EQ(socket.status(),
              absl::InvalidArgumentError(absl::StrCat(
                  "file descriptor ", fd,
                  " is no end of a connected stream of Unix sockets")));
  }
  ::close(pipe[1]);
  ::close(datagrams[1]);
}

TEST_F(StepSocketTest, RandomFramesDoNoHarm) {
  std::mt19937 random(1);
  proto::StepRequest honest = RequestOf(job_, 1);
  honest.mutable_begin()->add_fetch("x");
  *honest.add_tensors() = NamedBytes("x", "abc");
  for (int round = 0; round < 300; ++round) {
    Connect();
    honest.mutable_begin()->set_job(job_);
    for (int i = 0; i < 5; ++i) {
      std::string bytes = honest.SerializeAsString();
      for (int k = 0; k < 3; ++k) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      if (random() % 16 == 0) {
        script_->SendRaw(bytes);
      } else {
        script_->Send(bytes);
      }
    }
    script_->Close();
    socket_ = nullptr;
    EXPECT_LE(malformed_.exchange(0), 1);
  }
  Connect();
  honest.mutable_begin()->set_job(job_);
  EXPECT_EQ(Ask(honest).tensors(0).bytes(), "abc");
}

}  // namespace
}  // namespace meshwright
