#include "meshwright/cli/security_flags.h"

#include "absl/strings/str_cat.h"

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

std::vector<std::string> SecurityWords(const CommandLine& line) {
  std::vector<std::string> words;
  for (const FlagSpec& flag : SecurityFlags()) {
    if (!line.Has(flag.name)) continue;
    words.push_back(absl::StrCat("--", flag.name));
    words.push_back(line.Text(flag.name, ""));
  }
  return words;
}

}  // namespace meshwright
