// A client's connection to a server, and what is wrong with it in one line.
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

// What every call says: its protocol, and the token.
void AddCredentials(const Security& security, grpc::ClientContext& context);

// Says what gRPC's error of a call means, where it means that there was no
// connection or that the other side is no coordinator. Others stay as they are.
absl::Status Explain(const std::string& address, const Security& security,
                     const absl::Status& error);

// Whether what Explain returned may be gone soon: nothing listens there yet.
bool IsWorthRetrying(const absl::Status& explained);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_CHANNEL_H_
