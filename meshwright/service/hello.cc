#include "meshwright/service/hello.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/version.h"
#include "meshwright/service/limits.h"

namespace meshwright {
namespace {

constexpr size_t kMaxFieldBytes = 256;

// What others say of themselves, fit for one line.
std::string Printable(absl::string_view text) {
  return absl::Utf8SafeCHexEscape(text.substr(0, kMaxFieldBytes));
}

}  // namespace

std::string WorkerName(const proto::Hello& hello) {
  return absl::StrCat(
      hello.host().empty() ? "a host without a name" : Printable(hello.host()),
      " (pid ", hello.pid(), ")");
}

absl::Status CheckHello(const proto::Hello& hello) {
  if (hello.version() != Version()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", WorkerName(hello), " runs meshwright ",
        hello.version().empty() ? "of no version" : Printable(hello.version()),
        ", the coordinator ", Version(), "; install the same"));
  }
  if (hello.protocol() != kProtocol) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", WorkerName(hello), " speaks protocol ", hello.protocol(),
        ", the coordinator ", kProtocol, "; install the same"));
  }
  const size_t longest =
      std::max({hello.host().size(), hello.platform().size(),
                hello.device_kind().size(), hello.address().size(),
                hello.plugin().size()});
  if (longest > kMaxFieldBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", WorkerName(hello), " says hello with ", longest,
                     " bytes in one field; at most ", kMaxFieldBytes));
  }
  if (hello.devices() < 0 || hello.device_memory_bytes() < 0 ||
      hello.rank() < -1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", WorkerName(hello), " says hello with a number below zero"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
