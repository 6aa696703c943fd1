// Authentication and encryption flags of commands that use the network.
#ifndef MESHWRIGHT_CLI_SECURITY_FLAGS_H_
#define MESHWRIGHT_CLI_SECURITY_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/service/security.h"

namespace meshwright {

// --tls-cert, --tls-key, --tls-ca, --token-file.
std::vector<FlagSpec> SecurityFlags();
absl::StatusOr<Security> ReadSecurity(const CommandLine& line);
// Those that were given, as arguments for another command: {"--tls-ca",
// "ca.pem"}.
std::vector<std::string> SecurityWords(const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SECURITY_FLAGS_H_
