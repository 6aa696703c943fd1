// The server's side of a connection that never blocks, with TLS or without.
//
//   MW_ASSIGN_OR_RETURN(const auto tls, TlsContext::Create(security));
//   std::unique_ptr<ServerStream> stream = tls->Accept(fd);
//   const ssize_t count = stream->Receive(bytes);   // 0: poll for events()
#ifndef MESHWRIGHT_SERVICE_SERVER_STREAM_H_
#define MESHWRIGHT_SERVICE_SERVER_STREAM_H_

#include <sys/types.h>

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/service/security.h"

struct ssl_ctx_st;

namespace meshwright {

class ServerStream {
 public:
  virtual ~ServerStream() = default;

  // How many bytes; 0: none before the socket has events(); negative: the
  // connection is over.
  virtual ssize_t Receive(absl::Span<char> bytes) = 0;
  virtual ssize_t Send(absl::string_view bytes) = 0;

  virtual int fd() const = 0;
  // What to poll for, after a call that returned 0.
  virtual short events() const = 0;
};

// Takes the non-blocking socket.
std::unique_ptr<ServerStream> PlainStream(int fd);

// A server's certificate, and the CA that must have issued those of clients, if
// any.
class TlsContext {
 public:
  // kInvalidArgument if the certificate and the key do not match, or cannot be
  // read. Requires: there is a certificate.
  static absl::StatusOr<std::unique_ptr<TlsContext>> Create(
      const Security& security);

  // Takes the non-blocking socket. The handshake is part of the first calls.
  std::unique_ptr<ServerStream> Accept(int fd) const;

 private:
  explicit TlsContext(std::shared_ptr<ssl_ctx_st> context)
      : context_(std::move(context)) {}

  std::shared_ptr<ssl_ctx_st> context_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_SERVER_STREAM_H_
