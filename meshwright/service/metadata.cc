#include "meshwright/service/metadata.h"

#include <grpcpp/server_context.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/version.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/security.h"

namespace meshwright {
namespace {

absl::string_view Find(const grpc::ServerContextBase& context,
                       const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

}  // namespace

absl::Status CheckToken(const grpc::ServerContextBase& context,
                        const std::string& token) {
  if (token.empty()) return absl::OkStatus();
  const absl::string_view given = Find(context, kTokenKey);
  if (given.empty()) {
    return absl::UnauthenticatedError(
        "the coordinator wants a token; add --token-file or set "
        "$MESHWRIGHT_TOKEN");
  }
  if (!SameSecret(given, absl::StrCat(kTokenPrefix, token))) {
    return absl::UnauthenticatedError(
        "the token is not the coordinator's; check --token-file or "
        "$MESHWRIGHT_TOKEN");
  }
  return absl::OkStatus();
}

absl::Status CheckProtocol(const grpc::ServerContextBase& context) {
  const absl::string_view given = Find(context, kProtocolKey);
  if (given == absl::StrCat(kProtocol)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the client speaks ",
      given.empty() ? "no protocol" : absl::StrCat("protocol ", given),
      ", the coordinator (meshwright ", Version(), ") protocol ", kProtocol,
      "; install the same version"));
}

absl::string_view MemoryKeyOf(const grpc::ServerContextBase& context) {
  return Find(context, kMemoryKey);
}

}  // namespace meshwright
