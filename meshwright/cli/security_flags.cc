#include "meshwright/cli/security_flags.h"

namespace meshwright {

std::vector<FlagSpec> SecurityFlags() {
  return {{"token-file", "FILE",
           "the secret that all share (default: $MESHWRIGHT_TOKEN)"},
          {"tls-cert", "FILE", "this side's certificate, PEM"},
          {"tls-key", "FILE", "its key"},
          {"tls-ca", "FILE", "who signs the other side's certificate"}};
}

absl::StatusOr<Security> ReadSecurity(const CommandLine& line) {
  return LoadSecurity({.certificate = line.Text("tls-cert", ""),
                       .key = line.Text("tls-key", ""),
                       .ca = line.Text("tls-ca", ""),
                       .token = line.Text("token-file", "")});
}

}  // namespace meshwright
