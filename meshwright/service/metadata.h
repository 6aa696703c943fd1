// The metadata of every call, and its checks.
#ifndef MESHWRIGHT_SERVICE_METADATA_H_
#define MESHWRIGHT_SERVICE_METADATA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace grpc {
class ServerContextBase;
}

namespace meshwright {

inline constexpr char kProtocolKey[] = "meshwright-protocol";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr char kTokenPrefix[] = "Bearer ";
// Of the client's memory, if it shares any (wire/memory_shares.h).
inline constexpr char kMemoryKey[] = "meshwright-memory";
// The coordinator's version, in its first answer.
inline constexpr char kVersionKey[] = "meshwright-version";

// kUnauthenticated for a call without the token. Empty: everybody may call.
absl::Status CheckToken(const grpc::ServerContextBase& context,
                        const std::string& token);
// kFailedPrecondition for a call of another protocol.
absl::Status CheckProtocol(const grpc::ServerContextBase& context);
// Empty: it has none. Valid as long as the context.
absl::string_view MemoryKeyOf(const grpc::ServerContextBase& context);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_METADATA_H_
