#include "meshwright/service/server_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

bool WouldBlock() { return errno == EAGAIN || errno == EINTR; }

class Plain final : public ServerStream {
 public:
  explicit Plain(int fd) : fd_(fd) {}
  ~Plain() override { ::close(fd_); }

  ssize_t Receive(absl::Span<char> bytes) override {
    events_ = POLLIN;
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (count < 0 && WouldBlock()) return 0;
    return count == 0 ? -1 : count;
  }

  ssize_t Send(absl::string_view bytes) override {
    events_ = POLLOUT;
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return count < 0 && WouldBlock() ? 0 : count;
  }

  int fd() const override { return fd_; }
  short events() const override { return events_; }

 private:
  const int fd_;
  short events_ = POLLIN;
};

// OpenSSL's own sockets raise SIGPIPE.
int SocketOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

int WriteBio(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::send(SocketOf(bio), bytes, size, MSG_NOSIGNAL);
  if (count < 0 && WouldBlock()) BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int ReadBio(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(SocketOf(bio), bytes, size, 0);
  if (count < 0 && WouldBlock()) BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

long ControlBio(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO* SocketBio(int fd) {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(method, WriteBio);
    BIO_meth_set_read(method, ReadBio);
    BIO_meth_set_ctrl(method, ControlBio);
    return method;
  }();
  BIO* bio = BIO_new(kMethod);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

class Tls final : public ServerStream {
 public:
  Tls(int fd, SSL_CTX* context) : fd_(fd), ssl_(SSL_new(context)) {
    MW_CHECK(ssl_ != nullptr);
    BIO* const bio = SocketBio(fd);
    SSL_set_bio(ssl_, bio, bio);
    SSL_set_accept_state(ssl_);
  }

  ~Tls() override {
    // Says that nothing was cut off, without waiting for an answer.
    if (is_open_ && SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
    SSL_free(ssl_);
    ::close(fd_);
  }

  ssize_t Receive(absl::Span<char> bytes) override {
    events_ = POLLIN;
    ERR_clear_error();
    return Moved(SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size())));
  }

  ssize_t Send(absl::string_view bytes) override {
    events_ = POLLOUT;
    ERR_clear_error();
    return Moved(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())));
  }

  int fd() const override { return fd_; }
  short events() const override { return events_; }

 private:
  ssize_t Moved(int count) {
    if (count > 0) return count;
    const int error = SSL_get_error(ssl_, count);
    events_ = error == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
    is_open_ = false;
    return -1;
  }

  const int fd_;
  SSL* const ssl_;
  short events_ = POLLIN;
  bool is_open_ = true;
};

std::shared_ptr<BIO> Reader(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())),
          BIO_free_all};
}

// The next certificate of a PEM text; null if there is none.
std::shared_ptr<X509> NextCertificate(BIO* reader) {
  return {PEM_read_bio_X509(reader, nullptr, nullptr, nullptr), X509_free};
}

bool UseCertificates(const std::string& text, SSL_CTX* context) {
  const std::shared_ptr<BIO> reader = Reader(text);
  const std::shared_ptr<X509> own = NextCertificate(reader.get());
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return false;
  }
  while (const auto issuer = NextCertificate(reader.get())) {
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) return false;
  }
  return true;
}

bool UseKey(const std::string& text, SSL_CTX* context) {
  const std::shared_ptr<BIO> reader = Reader(text);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(reader.get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

// Clients must present certificates of these.
bool RequireClients(const std::string& ca, SSL_CTX* context) {
  const std::shared_ptr<BIO> reader = Reader(ca);
  int count = 0;
  while (const auto issuer = NextCertificate(reader.get())) {
    X509_STORE* const store = SSL_CTX_get_cert_store(context);
    if (X509_STORE_add_cert(store, issuer.get()) != 1 ||
        SSL_CTX_add_client_CA(context, issuer.get()) != 1) {
      return false;
    }
    ++count;
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  return count > 0;
}

}  // namespace

std::unique_ptr<ServerStream> PlainStream(int fd) {
  return std::make_unique<Plain>(fd);
}

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Create(
    const Security& security) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()),
                                         SSL_CTX_free);
  MW_CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  // A rest of an answer is sent from where it lies then.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!UseCertificates(security.certificate, context.get())) {
    return absl::InvalidArgumentError(
        "--tls-cert: the certificate cannot be read");
  }
  if (!UseKey(security.key, context.get())) {
    return absl::InvalidArgumentError("--tls-key is not the key of --tls-cert");
  }
  if (!security.ca.empty() && !RequireClients(security.ca, context.get())) {
    return absl::InvalidArgumentError(
        "--tls-ca: the certificate cannot be read");
  }
  return std::unique_ptr<TlsContext>(new TlsContext(context));
}

std::unique_ptr<ServerStream> TlsContext::Accept(int fd) const {
  return std::make_unique<Tls>(fd, context_.get());
}

}  // namespace meshwright
