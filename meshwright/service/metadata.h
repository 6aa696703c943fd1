// The metadata of every call, and its checks.
#ifndef MESHWRIGHT_SERVICE_METADATA_H_
#define MESHWRIGHT_SERVICE_METADATA_H_

#include <string>

#include "absl/status/status.h"

namespace grpc {
class ServerContextBase;
}

namespace meshwright {

inline constexpr char kProtocolKey[] = "meshwright-protocol";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr char kTokenPrefix[] = "Bearer ";
// The coordinator's version, in its first answer.
inline constexpr char kVersionKey[] = "meshwright-version";

// kUnauthenticated for a call without the token. Empty: everybody may call.
absl::Status CheckToken(const grpc::ServerContextBase& context,
                        const std::string& token);
// kFailedPrecondition for a call of another protocol.
absl::Status CheckProtocol(const grpc::ServerContextBase& context);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_METADATA_H_
