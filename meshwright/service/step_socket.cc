#include "meshwright/service/step_socket.h"

#include <fcntl.h>
#include <grpcpp/support/status.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/step_answer.h"
#include "meshwright/service/upload_budget.h"

namespace meshwright {
namespace {

struct FrameHeader {
  uint32_t size = 0;
  uint32_t code = 0;
};
static_assert(sizeof(FrameHeader) == 8);

// Not an error: there is nobody to tell.
absl::Status PeerGone() {
  return absl::CancelledError("the script closed its socket");
}

absl::Status CheckSocket(int fd) {
  int domain = 0;
  int type = 0;
  socklen_t size = sizeof(domain);
  sockaddr_storage peer = {};
  socklen_t peer_size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      domain != AF_UNIX || type != SOCK_STREAM ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("file descriptor ", fd,
                     " is no end of a connected stream of Unix sockets"));
  }
  // Programs that this one starts do not keep the connection.
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return absl::OkStatus();
}

absl::Status Receive(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = ::recv(fd, data, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return PeerGone();
    data += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status Send(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return PeerGone();
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

class SocketCall final : public RegionCall {
 public:
  SocketCall(int fd, const std::atomic<bool>& is_ending,
             std::shared_ptr<const SharedMemory> memory)
      : RegionCall(std::move(memory)), fd_(fd), is_ending_(is_ending) {}

  bool cancelled() const override {
    if (is_ending_) return true;
    pollfd polled = {.fd = fd_, .events = POLLRDHUP, .revents = 0};
    return ::poll(&polled, 1, 0) > 0;
  }

 private:
  const int fd_;
  const std::atomic<bool>& is_ending_;
};

class ServingStepSocket final : public StepSocket {
 public:
  explicit ServingStepSocket(StepSocketOptions options)
      : options_(std::move(options)), thread_([this] { Serve(); }) {}

  ~ServingStepSocket() override {
    is_ending_ = true;
    ::shutdown(options_.fd, SHUT_RDWR);
    thread_.join();
    ::close(options_.fd);
  }

 private:
  void Serve() {
    absl::Status status;
    while (status.ok()) status = ServeOne();
    // What is still unread goes, and the script sees the end.
    ::shutdown(options_.fd, SHUT_RDWR);
    if (!absl::IsCancelled(status) && options_.on_malformed != nullptr) {
      options_.on_malformed(status);
    }
  }

  // kInvalidArgument for what is no frame; kCancelled when the script is gone.
  absl::Status ServeOne() {
    MW_RETURN_IF_ERROR(ReadRequest());
    reply_.Clear();
    SocketCall call(options_.fd, is_ending_, options_.memory);
    absl::Status status =
        AnswerSteps(*options_.jobs, budget_, request_, reply_, call);
    call.regions.AwaitRelease(call);
    if (status.ok() && reply_.ByteSizeLong() > kMaxMessageBytes) {
      status = absl::InvalidArgumentError(
          absl::StrCat("an answer of ", reply_.ByteSizeLong(),
                       " bytes; at most ", kMaxMessageBytes, " go in one"));
    }
    return Answer(status);
  }

  absl::Status ReadRequest() {
    FrameHeader header;
    MW_RETURN_IF_ERROR(
        Receive(options_.fd, reinterpret_cast<char*>(&header), sizeof(header)));
    if (header.code != kProtocol) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a frame of protocol ", header.code, ", not ", kProtocol));
    }
    if (header.size > kMaxMessageBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a frame of ", header.size, " bytes; at most ", kMaxMessageBytes));
    }
    frame_.resize(header.size);
    MW_RETURN_IF_ERROR(Receive(options_.fd, frame_.data(), frame_.size()));
    if (request_.ParseFromString(frame_)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a frame of ", header.size, " bytes that is no request for steps"));
  }

  absl::Status Answer(const absl::Status& status) {
    FrameHeader header{.code = static_cast<uint32_t>(status.raw_code())};
    frame_.resize(sizeof(header));
    if (status.ok()) {
      reply_.AppendToString(&frame_);
    } else {
      frame_ += ToGrpc(status).error_message();
    }
    header.size = static_cast<uint32_t>(frame_.size() - sizeof(header));
    std::memcpy(frame_.data(), &header, sizeof(header));
    return Send(options_.fd, frame_);
  }

  const StepSocketOptions options_;
  std::atomic<bool> is_ending_ = false;
  // Only the thread's; kept, so that a step allocates little.
  UploadBudget budget_{kMaxMessageBytes};
  proto::StepRequest request_;
  proto::StepReply reply_;
  std::string frame_;
  std::thread thread_;  // Declared last: uses all of the above.
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepSocket>> StepSocket::Start(
    StepSocketOptions options) {
  absl::Cleanup close = [fd = options.fd] { ::close(fd); };
  MW_RETURN_IF_ERROR(CheckSocket(options.fd));
  std::move(close).Cancel();
  return std::make_unique<ServingStepSocket>(std::move(options));
}

}  // namespace meshwright
