#include "meshwright/service/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/service/http_request.h"

namespace meshwright {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

int Connect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address)),
            0);
  return fd;
}

std::string Answer(int fd) {
  std::string answer;
  char bytes[4096];
  ssize_t count = 0;
  while ((count = ::recv(fd, bytes, sizeof(bytes), 0)) > 0) {
    answer.append(bytes, count);
  }
  ::close(fd);
  return answer;
}

std::string Ask(int port, const std::string& request) {
  const int fd = Connect(port);
  EXPECT_GE(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), 0);
  return Answer(fd);
}

std::unique_ptr<MetricsServer> Start(absl::Duration timeout) {
  return MetricsServer::Start(
             {.text = [] { return "steps 7\n"; }, .timeout = timeout})
      .value();
}

TEST(MetricsServerTest, AnswersGets) {
  const auto server = Start(absl::Seconds(5));
  const int port = server->port();
  const std::string metrics =
      Ask(port, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(metrics, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(metrics, HasSubstr("version=0.0.4"));
  EXPECT_THAT(metrics, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(metrics, EndsWith("\r\n\r\nsteps 7\n"));
  EXPECT_THAT(Ask(port, "GET /metrics?x=1 HTTP/1.0\n\n"),
              EndsWith("steps 7\n"));
  EXPECT_THAT(Ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n"),
              EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask(port, "GET /healthz HTTP/1.1\r\n\r\n"), EndsWith("ok\n"));
  EXPECT_THAT(Ask(port, "GET / HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found"));
  EXPECT_THAT(Ask(port, "POST /metrics HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 405 Method Not Allowed"));
}

TEST(MetricsServerTest, SurvivesGarbage) {
  const auto server = Start(absl::Seconds(5));
  const int port = server->port();
  EXPECT_THAT(Ask(port, "hello\n"), StartsWith("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(Ask(port, std::string("\x16\x03\x01\x02", 4)),
              StartsWith("HTTP/1.1 400"));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string noise(random() % 300, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    const int fd = Connect(port);
    ::send(fd, noise.data(), noise.size(), MSG_NOSIGNAL);
    ::close(fd);
  }
  Ask(port, "GET /" + std::string(100'000, 'a'));
  Ask(port,
      "GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n");
  EXPECT_THAT(Ask(port, "GET /healthz HTTP/1.1\r\n\r\n"), EndsWith("ok\n"));
}

TEST(MetricsServerTest, SlowClientsAreHungUpOnAndDoNotKeepOthers) {
  const auto server = Start(absl::Milliseconds(300));
  std::vector<int> slow;
  for (int i = 0; i < 40; ++i) {  // More than are served at a time.
    slow.push_back(Connect(server->port()));
    ::send(slow.back(), "GET", 3, MSG_NOSIGNAL);
  }
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Ask(server->port(), "GET /healthz HTTP/1.1\r\n\r\n"),
              EndsWith("ok\n"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(5));
  for (const int fd : slow) EXPECT_EQ(Answer(fd), "");
}

TEST(MetricsServerTest, APortThatIsInUseIsNamed) {
  const auto server = Start(absl::Seconds(5));
  const auto second = MetricsServer::Start({.port = server->port()});
  EXPECT_EQ(second.status(), absl::FailedPreconditionError(absl::StrCat(
                                 "port ", server->port(),
                                 " is in use on 127.0.0.1; choose another with "
                                 "--metrics-port")));
}

TEST(HttpRequestTest, ReadsHeads) {
  HttpRequest request;
  EXPECT_EQ(FindRequest("", &request), RequestState::kIncomplete);
  EXPECT_EQ(FindRequest("GET / HT", &request), RequestState::kIncomplete);
  EXPECT_EQ(FindRequest("GET / HTTP/1.1\r\nA: b\r\n", &request),
            RequestState::kIncomplete);
  EXPECT_EQ(FindRequest("GET /a?b HTTP/1.1\r\nA: b\r\n\r\n", &request),
            RequestState::kComplete);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(FindRequest("GET a HTTP/1.1\r\n\r\n", &request),
            RequestState::kBad);
  EXPECT_EQ(FindRequest("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &request),
            RequestState::kBad);
  EXPECT_EQ(FindRequest(std::string(kMaxRequestBytes, 'a'), &request),
            RequestState::kTooLong);
}

}  // namespace
}  // namespace meshwright
