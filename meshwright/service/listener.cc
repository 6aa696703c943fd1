#include "meshwright/service/listener.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/host_port.h"
#include "meshwright/service/address.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/prepare_grpc.h"

namespace meshwright {
namespace {

// Calls that each take a thread; more are refused.
constexpr int kMaxThreads = 256;

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(
    const Security& security) {
  if (security.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      security.ca.empty()
          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security.ca;
  options.pem_key_cert_pairs.push_back({security.key, security.certificate});
  return grpc::SslServerCredentials(options);
}

void SetArguments(const ListenOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // Otherwise a second server takes the same port without an error.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  // What gRPC itself holds of what has not been read: a window that does not
  // grow.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                             kWindowBytes);
  builder.AddChannelArgument(
      GRPC_ARG_KEEPALIVE_TIME_MS,
      static_cast<int>(absl::ToInt64Milliseconds(options.keepalive_time)));
  builder.AddChannelArgument(
      GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
      static_cast<int>(absl::ToInt64Milliseconds(options.keepalive_timeout)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // The other side's pings, as often as ours, are no abuse.
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  grpc::ResourceQuota quota("meshwright");
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
}

}  // namespace

Listener::Listener(std::unique_ptr<grpc::Server> server, int port)
    : server_(std::move(server)), port_(port) {}

Listener::~Listener() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Start(
    const ListenOptions& options, absl::Span<grpc::Service* const> services) {
  const Security& security = options.security;
  MW_RETURN_IF_ERROR(CheckListen(options.address, security));
  MW_ASSIGN_OR_RETURN(const HostPort address, ParseAddress(options.address));
  // gRPC only says that it could not.
  MW_RETURN_IF_ERROR(TryListen(address));
  PrepareGrpc();
  grpc::ServerBuilder builder;
  SetArguments(options, builder);
  for (grpc::Service* service : services) builder.RegisterService(service);
  int port = 0;
  builder.AddListeningPort(address.ToString(), ServerCredentials(security),
                           &port);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    MW_RETURN_IF_ERROR(TryListen(address));
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot listen at ", options.address,
        security.certificate.empty() ? ""
                                     : "; do --tls-cert and --tls-key match?"));
  }
  return std::unique_ptr<Listener>(new Listener(std::move(server), port));
}

}  // namespace meshwright
