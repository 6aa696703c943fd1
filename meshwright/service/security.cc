#include "meshwright/service/security.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxPemBytes = int64_t{1} << 20;
constexpr int64_t kMaxTokenBytes = int64_t{4} << 10;

absl::StatusOr<std::string> ReadPem(const std::string& path,
                                    absl::string_view flag,
                                    absl::string_view what) {
  if (path.empty()) return "";
  auto text = ReadFile(path, kMaxPemBytes);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(flag, ": ", text.status().message()));
  }
  if (!absl::StrContains(*text, absl::StrCat(what, "-----"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path, " holds no ", what, " in PEM form"));
  }
  return text;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::string token;
  std::string from = "$MESHWRIGHT_TOKEN";
  if (!path.empty()) {
    from = absl::StrCat("--token-file ", path);
    MW_ASSIGN_OR_RETURN(token, ReadFile(path, kMaxTokenBytes));
  } else if (const char* value = std::getenv("MESHWRIGHT_TOKEN")) {
    token = value;
  } else {
    return "";
  }
  token = std::string(absl::StripAsciiWhitespace(token));
  const bool sendable = std::all_of(token.begin(), token.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  if (token.empty() || !sendable ||
      static_cast<int64_t>(token.size()) > kMaxTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(from, token.empty() ? " is empty" : " is no token",
                     "; make one with `openssl rand -hex 32`"));
  }
  return token;
}

}  // namespace

absl::StatusOr<Security> LoadSecurity(const SecurityFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key go together");
  }
  Security security;
  MW_ASSIGN_OR_RETURN(security.certificate,
                      ReadPem(files.certificate, "--tls-cert", "CERTIFICATE"));
  MW_ASSIGN_OR_RETURN(security.key,
                      ReadPem(files.key, "--tls-key", "PRIVATE KEY"));
  MW_ASSIGN_OR_RETURN(security.ca,
                      ReadPem(files.ca, "--tls-ca", "CERTIFICATE"));
  MW_ASSIGN_OR_RETURN(security.token, ReadToken(files.token));
  return security;
}

absl::Status CheckListen(absl::string_view address, const Security& security) {
  MW_ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
  if (security.certificate.empty() != security.key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key go together");
  }
  if (parsed.IsLoopback()) return absl::OkStatus();
  std::string missing;
  if (security.certificate.empty()) missing = "--tls-cert, --tls-key";
  if (security.token.empty()) {
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", "--token-file");
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("listening at ", address,
                   " lets others than this machine in, which takes TLS and a "
                   "token; add ",
                   missing));
}

absl::Status CheckConnect(absl::string_view address, const Security& security) {
  MW_ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
  if (parsed.port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(address, " has no port to connect to"));
  }
  if (!security.certificate.empty() && security.ca.empty()) {
    return absl::InvalidArgumentError(
        "a certificate without a CA to check the other side; add --tls-ca");
  }
  if (!security.token.empty() && security.ca.empty() && !parsed.IsLoopback()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the token would go to ", parsed.host, " in the clear; add --tls-ca"));
  }
  return absl::OkStatus();
}

bool SameSecret(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  // Volatile, so that no compiler makes it stop at the first difference.
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = difference | static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace meshwright
