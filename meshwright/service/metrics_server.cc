#include "meshwright/service/metrics_server.h"

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
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/service/address.h"
#include "meshwright/service/http_request.h"
#include "meshwright/service/server_stream.h"

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
  std::unique_ptr<ServerStream> stream;
  absl::Time deadline;
  std::string request;
  std::string answer;  // What is left of it; empty: it is still asking.
};

absl::StatusOr<int> PortOf(const Descriptor& socket) {
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &size) !=
      0) {
    return absl::InternalError(std::strerror(errno));
  }
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

class HttpMetricsServer final : public MetricsServer {
 public:
  // Without TLS if `tls` is null.
  HttpMetricsServer(MetricsServerOptions options, Descriptor listener,
                    std::unique_ptr<TlsContext> tls)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        tls_(std::move(tls)),
        ending_(::eventfd(0, EFD_CLOEXEC)),
        thread_([this] { Serve(); }) {}

  ~HttpMetricsServer() override {
    const uint64_t one = 1;
    // An eventfd takes it.
    [[maybe_unused]] const ssize_t written =
        ::write(ending_.get(), &one, sizeof(one));
    thread_.join();
  }

  std::string url() const override {
    return absl::StrCat(tls_ != nullptr ? "https://" : "http://",
                        options_.address.ToString(), "/metrics");
  }
  int port() const override { return options_.address.port; }

 private:
  void Serve();
  void Accept();
  // Whether the connection goes on.
  bool Advance(Connection& one, int events);
  bool Receive(Connection& one);
  bool Send(Connection& one);
  bool HasToken(const HttpRequest& request) const;
  std::string AnswerTo(const HttpRequest& request) const;

  const MetricsServerOptions options_;
  const Descriptor listener_;
  const std::unique_ptr<TlsContext> tls_;
  const Descriptor ending_;
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
      polled.push_back({.fd = one.stream->fd(),
                        .events = one.stream->events(),
                        .revents = 0});
      next = std::min(next, one.deadline);
    }
    const int64_t millis =
        connections_.empty()
            ? -1
            : std::max<int64_t>(
                  0, absl::ToInt64Milliseconds(next - SteadyNow()) + 1);
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
  const int socket = ::accept4(listener_.get(), nullptr, nullptr,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket < 0) {
    // Without descriptors left it would be tried again at once, for ever.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      absl::SleepFor(absl::Milliseconds(50));
    }
    return;
  }
  connections_.push_back(
      {.stream = tls_ != nullptr ? tls_->Accept(socket) : PlainStream(socket),
       .deadline = SteadyNow() + options_.timeout});
}

bool HttpMetricsServer::Advance(Connection& one, int events) {
  if (events != 0) {
    const bool goes_on = one.answer.empty() ? Receive(one) : Send(one);
    if (!goes_on) return false;
  }
  return SteadyNow() < one.deadline;
}

bool HttpMetricsServer::Receive(Connection& one) {
  // Whole records of TLS, since poll() does not know of what is left of one.
  HttpRequest request;
  RequestState state = RequestState::kIncomplete;
  while (state == RequestState::kIncomplete) {
    char bytes[4096];
    const ssize_t count = one.stream->Receive(absl::MakeSpan(bytes));
    if (count <= 0) return count == 0;
    one.request.append(bytes, count);
    state = FindRequest(one.request, &request);
  }
  switch (state) {
    case RequestState::kIncomplete:
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
  const ssize_t count = one.stream->Send(one.answer);
  if (count <= 0) return count == 0;
  one.answer.erase(0, count);
  return !one.answer.empty();
}

bool HttpMetricsServer::HasToken(const HttpRequest& request) const {
  const std::string& token = options_.security.token;
  return token.empty() ||
         SameSecret(request.authorization, absl::StrCat("Bearer ", token));
}

std::string HttpMetricsServer::AnswerTo(const HttpRequest& request) const {
  const bool is_head = request.method == "HEAD";
  if (request.method != "GET" && !is_head) {
    return HttpAnswer(405, kText, "only GET\n", true);
  }
  if (request.path == "/healthz") {
    return HttpAnswer(200, kText, "ok\n", !is_head);
  }
  if (!HasToken(request)) {
    return HttpAnswer(401, kText, "only with the token\n", !is_head);
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
  const Security& security = options.security;
  MW_RETURN_IF_ERROR(CheckListen(options.address.ToString(), security));
  std::unique_ptr<TlsContext> tls;
  if (!security.certificate.empty()) {
    MW_ASSIGN_OR_RETURN(tls, TlsContext::Create(security));
  }
  MW_ASSIGN_OR_RETURN(
      const int socket,
      ListenAt(options.address, "--metrics-listen or --metrics-port"));
  Descriptor listener(socket);
  MW_ASSIGN_OR_RETURN(options.address.port, PortOf(listener));
  return std::make_unique<HttpMetricsServer>(
      std::move(options), std::move(listener), std::move(tls));
}

}  // namespace meshwright
