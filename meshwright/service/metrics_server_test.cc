#include "meshwright/service/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/service/certificates_for_test.h"
#include "meshwright/service/http_request.h"

namespace meshwright {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
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

// What a client that trusts this CA is answered, over TLS; "" if it is not.
std::string AskSafely(int port, const std::string& ca,
                      const std::string& request,
                      const CertificatesForTest::Issued* own = nullptr) {
  const auto reader = [](const std::string& text) {
    return std::shared_ptr<BIO>(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
        BIO_free_all);
  };
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()),
                                         SSL_CTX_free);
  const std::shared_ptr<X509> issuer(
      PEM_read_bio_X509(reader(ca).get(), nullptr, nullptr, nullptr),
      X509_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), issuer.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (own != nullptr) {
    const std::shared_ptr<X509> certificate(
        PEM_read_bio_X509(reader(own->certificate).get(), nullptr, nullptr,
                          nullptr),
        X509_free);
    const std::shared_ptr<EVP_PKEY> key(
        PEM_read_bio_PrivateKey(reader(own->key).get(), nullptr, nullptr,
                                nullptr),
        EVP_PKEY_free);
    SSL_CTX_use_certificate(context.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  const int fd = Connect(port);
  const std::shared_ptr<SSL> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), fd);
  std::string answer;
  if (SSL_connect(ssl.get()) == 1 &&
      SSL_write(ssl.get(), request.data(), static_cast<int>(request.size())) >
          0) {
    char bytes[4096];
    int count = 0;
    while ((count = SSL_read(ssl.get(), bytes, sizeof(bytes))) > 0) {
      answer.append(bytes, count);
    }
  }
  ::close(fd);
  return answer;
}

TEST(MetricsServerTest, OtherMachinesNeedTlsAndTheToken) {
  const CertificatesForTest authority;
  const auto issued = authority.Issue("IP:127.0.0.1");
  Security security = {.certificate = issued.certificate, .key = issued.key};
  MetricsServerOptions options = {
      .address = {"0.0.0.0", 0}, .security = security, .text = [] {
        return std::string(100'000, 'x') + "\n";
      }};
  EXPECT_EQ(MetricsServer::Start(options).status().message(),
            "listening at 0.0.0.0:0 lets others than this machine in, which "
            "takes TLS and a token; add --token-file");
  options.security.token = "sesame";
  const auto server = MetricsServer::Start(options).value();
  const int port = server->port();
  EXPECT_EQ(server->url(), absl::StrCat("https://0.0.0.0:", port, "/metrics"));
  const auto ask = [&](const std::string& headers,
                       absl::string_view path = "/metrics") {
    return AskSafely(
        port, authority.ca(),
        absl::StrCat("GET ", path, " HTTP/1.1\r\n", headers, "\r\n"));
  };
  // More than one record of TLS, in both directions.
  const std::string filler = "X: " + std::string(6000, 'a') + "\r\n";
  const std::string answer = ask(filler + "authorization: Bearer sesame\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 100001\r\n"));
  EXPECT_THAT(answer, EndsWith("xxx\n"));
  EXPECT_THAT(ask(""), StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(ask(""), HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(ask("Authorization: Bearer guess\r\n"),
              StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("Authorization: sesame\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("", "/healthz"), EndsWith("ok\n"));
  // Who does not speak TLS, or trusts another CA, is hung up on.
  EXPECT_THAT(Ask(port, "GET /metrics HTTP/1.1\r\n\r\n"),
              Not(HasSubstr("HTTP/1.1")));
  EXPECT_EQ(AskSafely(port, CertificatesForTest().ca(), "GET / HTTP/1.1\r\n"),
            "");
  EXPECT_THAT(ask("", "/healthz"), EndsWith("ok\n"));
}

TEST(MetricsServerTest, WithACaClientsShowTheirCertificates) {
  const CertificatesForTest authority;
  const auto issued = authority.Issue("IP:127.0.0.1");
  const auto server =
      MetricsServer::Start({.security = {.certificate = issued.certificate,
                                         .key = issued.key,
                                         .ca = authority.ca()},
                            .text = [] { return "steps 7\n"; }})
          .value();
  const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
  const auto client = authority.Issue("DNS:prometheus");
  const auto stranger = CertificatesForTest().Issue("DNS:prometheus");
  const auto ask = [&](const CertificatesForTest::Issued* own) {
    return AskSafely(server->port(), authority.ca(), request, own);
  };
  EXPECT_THAT(ask(&client), EndsWith("steps 7\n"));
  EXPECT_EQ(ask(&stranger), "");
  EXPECT_EQ(ask(nullptr), "");
}

TEST(MetricsServerTest, ACertificateNeedsItsKey) {
  const CertificatesForTest authority;
  const auto one = authority.Issue("IP:127.0.0.1");
  const auto other = authority.Issue("IP:127.0.0.1");
  const auto server = MetricsServer::Start(
      {.security = {.certificate = one.certificate, .key = other.key}});
  EXPECT_EQ(server.status().message(),
            "--tls-key is not the key of --tls-cert");
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
  const auto second =
      MetricsServer::Start({.address = {"127.0.0.1", server->port()}});
  EXPECT_EQ(second.status(), absl::FailedPreconditionError(absl::StrCat(
                                 "port ", server->port(),
                                 " is in use on 127.0.0.1; choose another with "
                                 "--metrics-listen or --metrics-port")));
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
