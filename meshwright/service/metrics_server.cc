#include "meshwright/service/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/http_request.h"

namespace meshwright {
namespace {

// At a time; more wait to be accepted.
constexpr size_t kMaxConnections = 32;
constexpr char kText[] = "text/plain; charset=utf-8";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Connection {
  Descriptor socket;
  absl::Time deadline;
  std::string request;
  std::string answer;  // What is left of it; empty: it is still asking.
};

absl::StatusOr<Descriptor> Listen(int port) {
  Descriptor socket(
      ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket.get() >= 0 &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
             sizeof(address)) == 0 &&
      ::listen(socket.get(), 64) == 0) {
    return socket;
  }
  const int error = errno;
  if (error == EADDRINUSE) {
    return absl::FailedPreconditionError(
        absl::StrCat("port ", port,
                     " is in use on 127.0.0.1; choose another with "
                     "--metrics-port"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot listen at 127.0.0.1:", port, ": ", std::strerror(error)));
}

class HttpMetricsServer final : public MetricsServer {
 public:
  HttpMetricsServer(MetricsServerOptions options, Descriptor listener, int port)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        ending_(::eventfd(0, EFD_CLOEXEC)),
        port_(port),
        thread_([this] { Serve(); }) {}

  ~HttpMetricsServer() override {
    const uint64_t one = 1;
    // An eventfd takes it.
    [[maybe_unused]] const ssize_t written =
        ::write(ending_.get(), &one, sizeof(one));
    thread_.join();
  }

  int port() const override { return port_; }

 private:
  void Serve();
  void Accept();
  // Whether the connection goes on.
  bool Advance(Connection& one, int events);
  bool Receive(Connection& one);
  bool Send(Connection& one);
  std::string AnswerTo(const HttpRequest& request) const;

  const MetricsServerOptions options_;
  const Descriptor listener_;
  const Descriptor ending_;
  const int port_;
  std::list<Connection> connections_;  // Only the thread's.
  std::thread thread_;
};

void HttpMetricsServer::Serve() {
  while (true) {
    const bool is_full = connections_.size() >= kMaxConnections;
    std::vector<pollfd> polled = {
        {.fd = ending_.get(), .events = POLLIN, .revents = 0},
        {.fd = is_full ? -1 : listener_.get(), .events = POLLIN, .revents = 0}};
    absl::Time next = absl::InfiniteFuture();
    for (const Connection& one : connections_) {
      const short events = one.answer.empty() ? POLLIN : POLLOUT;
      polled.push_back(
          {.fd = one.socket.get(), .events = events, .revents = 0});
      next = std::min(next, one.deadline);
    }
    const int64_t millis =
        connections_.empty()
            ? -1
            : std::max<int64_t>(
                  0, absl::ToInt64Milliseconds(next - absl::Now()) + 1);
    if (::poll(polled.data(), polled.size(), static_cast<int>(millis)) < 0 &&
        errno != EINTR) {
      return;
    }
    if (polled[0].revents != 0) return;
    size_t index = 2;
    for (auto one = connections_.begin(); one != connections_.end(); ++index) {
      one = Advance(*one, polled[index].revents) ? std::next(one)
                                                 : connections_.erase(one);
    }
    if (polled[1].revents != 0) Accept();
  }
}

void HttpMetricsServer::Accept() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr,
                              SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.get() < 0) {
    // Without descriptors left it would be tried again at once, for ever.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      absl::SleepFor(absl::Milliseconds(50));
    }
    return;
  }
  connections_.push_back({.socket = std::move(socket),
                          .deadline = absl::Now() + options_.timeout});
}

bool HttpMetricsServer::Advance(Connection& one, int events) {
  if (events != 0) {
    const bool goes_on = one.answer.empty() ? Receive(one) : Send(one);
    if (!goes_on) return false;
  }
  return absl::Now() < one.deadline;
}

bool HttpMetricsServer::Receive(Connection& one) {
  char bytes[4096];
  const ssize_t count = ::recv(one.socket.get(), bytes, sizeof(bytes), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  one.request.append(bytes, count);
  HttpRequest request;
  switch (FindRequest(one.request, &request)) {
    case RequestState::kIncomplete:
      return true;
    case RequestState::kComplete:
      one.answer = AnswerTo(request);
      break;
    case RequestState::kBad:
      one.answer = HttpAnswer(400, kText, "not a request\n", true);
      break;
    case RequestState::kTooLong:
      one.answer = HttpAnswer(431, kText, "too long\n", true);
      break;
  }
  one.request.clear();
  return Send(one);
}

bool HttpMetricsServer::Send(Connection& one) {
  const ssize_t count = ::send(one.socket.get(), one.answer.data(),
                               one.answer.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  one.answer.erase(0, count);
  return !one.answer.empty();
}

std::string HttpMetricsServer::AnswerTo(const HttpRequest& request) const {
  const bool is_head = request.method == "HEAD";
  if (request.method != "GET" && !is_head) {
    return HttpAnswer(405, kText, "only GET\n", true);
  }
  if (request.path == "/healthz") {
    return HttpAnswer(200, kText, "ok\n", !is_head);
  }
  if (request.path == "/metrics") {
    return HttpAnswer(200, "text/plain; version=0.0.4; charset=utf-8",
                      options_.text(), !is_head);
  }
  return HttpAnswer(404, kText, "there are /metrics and /healthz\n", !is_head);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    MetricsServerOptions options) {
  MW_ASSIGN_OR_RETURN(Descriptor listener, Listen(options.port));
  sockaddr_in bound = {};
  socklen_t size = sizeof(bound);
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound),
                    &size) != 0) {
    return absl::InternalError(std::strerror(errno));
  }
  return std::make_unique<HttpMetricsServer>(
      std::move(options), std::move(listener), ntohs(bound.sin_port));
}

}  // namespace meshwright
