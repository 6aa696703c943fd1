// A client's connection to a server, with one-line explanations of failures.
#ifndef MESHWRIGHT_SERVICE_CHANNEL_H_
#define MESHWRIGHT_SERVICE_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/service/security.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace meshwright {

// Connects with the first call. Checks the address (CheckConnect).
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenChannel(
    const std::string& address, const Security& security);

// Adds what every call carries: the protocol, and the token.
void AddCredentials(const Security& security, grpc::ClientContext& context);

// Translates an error of a call if it means that there was no connection or
// that the other side is not a coordinator. Returns other errors unchanged.
absl::Status Explain(const std::string& address, const Security& security,
                     const absl::Status& error);

// kUnavailable: it accepts connections, and stays silent.
absl::Status DoesNotAnswer(const std::string& address);

// Whether what Explain returned may resolve soon: nothing listens there yet.
bool IsWorthRetrying(const absl::Status& explained);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_CHANNEL_H_
