#include "meshwright/service/channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/host_port.h"
#include "meshwright/service/address.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/metadata.h"
#include "meshwright/service/prepare_grpc.h"

namespace meshwright {
namespace {

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(
    const Security& security) {
  if (security.ca.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = security.ca;
  options.pem_private_key = security.key;
  options.pem_cert_chain = security.certificate;
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(kKeepaliveTime)));
  arguments.SetInt(
      GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
      static_cast<int>(absl::ToInt64Milliseconds(kKeepaliveTimeout)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Every link has a connection of its own, and none goes through a proxy.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // A call that failed is not silently made again.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return arguments;
}

// Something listens there, but does not answer as it should.
absl::Status ExplainPlain(const HostPort& parsed, const std::string& address,
                          absl::string_view message) {
  // Also a server that has too much to do closes connections.
  if (absl::StrContains(message, "Socket closed") && !SpeaksHttp2(parsed)) {
    return absl::FailedPreconditionError(absl::StrCat(
        address, " closed the connection; if it uses TLS, add --tls-ca"));
  }
  return absl::UnavailableError(
      absl::StrCat("no connection to ", address, ": ", message));
}

absl::Status ExplainTls(const std::string& address, const Security& security,
                        absl::string_view message) {
  std::string why;
  if (absl::StrContains(message, "wrong version number")) {
    why = absl::StrCat(address,
                       " does not speak TLS; leave --tls-ca out, or start it "
                       "with --tls-cert and --tls-key");
  } else if (absl::StrContains(message, "Peer name")) {
    why = absl::StrCat("the certificate of ", address,
                       " names another host; make one for this name");
  } else if (absl::StrContains(message, "andshake")) {
    why = absl::StrCat("the certificate of ", address,
                       " does not pass with the CA in --tls-ca");
  } else if (absl::StrContains(message, "Socket closed")) {
    return absl::UnavailableError(absl::StrCat(
        address, " closed the connection; does it accept ",
        security.certificate.empty() ? "workers and clients without --tls-cert?"
                                     : "the CA of --tls-cert?"));
  } else {
    return absl::UnavailableError(
        absl::StrCat("no connection to ", address, ": ", message));
  }
  return absl::FailedPreconditionError(why);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& address, const Security& security) {
  MW_RETURN_IF_ERROR(CheckConnect(address, security));
  PrepareGrpc();
  return grpc::CreateCustomChannel(address, ChannelCredentials(security),
                                   Arguments());
}

void AddCredentials(const Security& security, grpc::ClientContext& context) {
  context.AddMetadata(kProtocolKey, absl::StrCat(kProtocol));
  if (!security.token.empty()) {
    context.AddMetadata(kTokenKey, absl::StrCat(kTokenPrefix, security.token));
  }
}

absl::Status Explain(const std::string& address, const Security& security,
                     const absl::Status& error) {
  if (error.code() == absl::StatusCode::kUnimplemented) {
    return absl::FailedPreconditionError(
        absl::StrCat(address, " is no Meshwright coordinator, or an old one"));
  }
  if (error.code() != absl::StatusCode::kUnavailable) return error;
  MW_ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
  MW_RETURN_IF_ERROR(TryConnect(parsed));
  return security.ca.empty() ? ExplainPlain(parsed, address, error.message())
                             : ExplainTls(address, security, error.message());
}

absl::Status DoesNotAnswer(const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat(address, " does not answer; is it a coordinator?"));
}

bool IsWorthRetrying(const absl::Status& explained) {
  return explained.code() == absl::StatusCode::kUnavailable;
}

}  // namespace meshwright
