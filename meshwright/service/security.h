// Authentication and encryption of connections.
//
//   MW_ASSIGN_OR_RETURN(const Security security,
//                       LoadSecurity({.token_file = "token", ...}));
//   MW_RETURN_IF_ERROR(CheckListen("0.0.0.0:7777", security));
//
// A server uses TLS if it has a certificate; if it also has a CA, clients must
// present a certificate of that CA. A client uses TLS if it has a CA, and
// presents its certificate if it has one.
#ifndef MESHWRIGHT_SERVICE_SECURITY_H_
#define MESHWRIGHT_SERVICE_SECURITY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace meshwright {

// PEM texts, and a secret; empty: none.
struct Security {
  std::string certificate;
  std::string key;
  std::string ca;
  std::string token;
};

// Paths; empty: none.
struct SecurityFiles {
  std::string certificate;  // --tls-cert
  std::string key;          // --tls-key
  std::string ca;           // --tls-ca
  std::string token;        // --token-file; else $MESHWRIGHT_TOKEN
};

// kInvalidArgument, in one line, for a certificate without a key, a file that
// is not PEM, or a token that is empty or cannot be sent.
absl::StatusOr<Security> LoadSecurity(const SecurityFiles& files);

// Except on loopback, a server must have a certificate and a token.
absl::Status CheckListen(absl::string_view address, const Security& security);
// A token is sent over TLS only, or stays on this machine.
absl::Status CheckConnect(absl::string_view address, const Security& security);

// Comparison in constant time for given lengths.
bool SameSecret(absl::string_view a, absl::string_view b);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_SECURITY_H_
