#include "meshwright/wire/gloo_mesh.h"

#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

namespace tcp = gloo::transport::tcp;

std::string KeyOf(const WireOptions& options, int rank) {
  return absl::StrCat(options.prefix, "mesh/", rank);
}

// Opens a socket for each peer; returns their addresses, in the order of the
// peers.
std::string Listen(tcp::Context& mesh, int rank) {
  std::string addresses;
  for (int peer = 0; peer < mesh.size; ++peer) {
    if (peer == rank) continue;
    const std::vector<char> address = mesh.createPair(peer)->address().bytes();
    addresses.append(address.begin(), address.end());
  }
  return addresses;
}

// The address at which `peer`, which has published `addresses`, expects `rank`.
std::vector<char> AddressFor(const std::string& addresses, int rank, int peer,
                             int size) {
  const size_t length = addresses.size() / static_cast<size_t>(size - 1);
  const size_t place = rank < peer ? rank : rank - 1;
  const std::string address = addresses.substr(length * place, length);
  return {address.begin(), address.end()};
}

absl::Status ConnectTo(int peer, const WireOptions& options, Health& health,
                       tcp::Context& mesh) {
  absl::StatusOr<std::string> addresses =
      options.store->Get(KeyOf(options, peer), options.timeout);
  if (absl::IsDeadlineExceeded(addresses.status())) {
    return health.FailAsSilent(peer);
  }
  MW_RETURN_IF_ERROR(addresses.status());
  try {
    mesh.getPair(peer)->connect(
        AddressFor(*addresses, options.rank, peer, mesh.size));
  } catch (const std::exception& error) {
    return health.Fail(absl::UnavailableError(absl::StrCat(
        "cannot connect to ", health.name(peer), ": ", error.what())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GlooMesh> ConnectGlooMesh(const WireOptions& options,
                                         Health& health) {
  GlooMesh mesh;
  std::string addresses;
  try {
    const auto device = tcp::CreateDevice(tcp::attr(options.address.c_str()));
    mesh = std::dynamic_pointer_cast<tcp::Context>(
        device->createContext(options.rank, health.size()));
    mesh->setTimeout(
        std::chrono::milliseconds(absl::ToInt64Milliseconds(options.timeout)));
    addresses = Listen(*mesh, options.rank);
  } catch (const std::exception& error) {
    return health.Fail(absl::UnavailableError(absl::StrCat(
        "cannot listen on ", options.address, ": ", error.what())));
  }
  MW_RETURN_IF_ERROR(
      options.store->Set(KeyOf(options, options.rank), addresses));
  for (int peer = 0; peer < mesh->size; ++peer) {
    if (peer == options.rank) continue;
    MW_RETURN_IF_ERROR(ConnectTo(peer, options, health, *mesh));
  }
  return mesh;
}

}  // namespace meshwright
