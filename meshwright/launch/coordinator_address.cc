#include "meshwright/launch/coordinator_address.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/node_list.h"
#include "meshwright/launch/variables.h"

namespace meshwright {
namespace {

constexpr uint64_t kFirstJobPort = 20000;
constexpr uint64_t kJobPorts = 32768 - kFirstJobPort;
// Number of steps of one Slurm job that may run at the same time on different
// ports.
constexpr uint64_t kSteps = 8;
constexpr char kLoopback[] = "127.0.0.1";

// Another port that depends only on this one; consecutive ports map to
// consecutive ports.
int PortBeside(int port) {
  return (port / 10000 == 1 ? 20000 : 10000) + port % 10000;
}

// "2033385472.0;tcp://10.0.0.1,10.1.0.1:50591;tcp6://[fd00::2]:48351": the host
// of the first address.
std::optional<std::string> HostOfUri(absl::string_view uri) {
  const size_t scheme = uri.find("://");
  if (scheme == absl::string_view::npos) return std::nullopt;
  uri.remove_prefix(scheme + 3);
  if (absl::ConsumePrefix(&uri, "[")) {
    return std::string(uri.substr(0, uri.find_first_of("],")));
  }
  return std::string(uri.substr(0, uri.find_first_of(",:")));
}

// "prterun-gpu-02-4242@1" is mpirun's process 4242 on host gpu-02.
std::optional<HostPort> FromNamespace(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "prterun-")) return std::nullopt;
  text = text.substr(0, text.find('@'));
  const size_t dash = text.rfind('-');
  uint64_t pid = 0;
  if (dash == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(dash + 1), &pid)) {
    return std::nullopt;
  }
  return HostPort{std::string(text.substr(0, dash)), JobPort(pid)};
}

}  // namespace

int JobPort(uint64_t job) {
  return static_cast<int>(kFirstJobPort + job % kJobPorts);
}

absl::StatusOr<std::optional<HostPort>> TorchrunCoordinator(
    const Environment& environment) {
  MW_ASSIGN_OR_RETURN(std::optional<HostPort> address,
                      AddressVariable(environment, "MASTER_ADDR", "MASTER_PORT",
                                      kCoordinatorPort));
  if (address.has_value() &&
      Variable(environment, "TORCHELASTIC_RUN_ID").has_value()) {
    address->port = PortBeside(address->port);
  }
  return address;
}

absl::StatusOr<std::optional<HostPort>> SlurmCoordinator(
    const Environment& environment) {
  constexpr char kNodes[] = "SLURM_STEP_NODELIST";
  const std::optional<std::string> list = Variable(environment, kNodes);
  if (!list.has_value()) return std::nullopt;
  const absl::StatusOr<std::vector<std::string>> hosts = ExpandNodeList(*list);
  if (!hosts.ok()) return Annotate(hosts.status(), kNodes);
  MW_ASSIGN_OR_RETURN(const std::optional<int64_t> job,
                      IntegerVariable(environment, "SLURM_JOB_ID", UINT32_MAX));
  if (!job.has_value()) {
    return absl::InvalidArgumentError(
        "SLURM_STEP_NODELIST is set, but SLURM_JOB_ID is not");
  }
  MW_ASSIGN_OR_RETURN(
      const std::optional<int64_t> step,
      IntegerVariable(environment, "SLURM_STEP_ID", UINT32_MAX));
  const uint64_t number = static_cast<uint64_t>(*job) * kSteps +
                          static_cast<uint64_t>(step.value_or(0)) % kSteps;
  return HostPort{hosts->size() == 1 ? kLoopback : hosts->front(),
                  JobPort(number)};
}

absl::StatusOr<std::optional<HostPort>> OpenMpiCoordinator(
    const Environment& environment) {
  std::optional<HostPort> address;
  const std::optional<std::string> uri =
      Variable(environment, "OMPI_MCA_orte_hnp_uri");
  if (uri.has_value()) {
    // The upper half is the number of the job family.
    uint32_t job = 0;
    const std::optional<std::string> host = HostOfUri(*uri);
    if (!host.has_value() || host->empty() ||
        !absl::SimpleAtoi(uri->substr(0, uri->find('.')), &job)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "OMPI_MCA_orte_hnp_uri is '", *uri, "', not JOB.0;tcp://HOST:PORT"));
    }
    address = HostPort{*host, JobPort(job >> 16)};
  } else if (const auto space = Variable(environment, "PMIX_NAMESPACE")) {
    address = FromNamespace(*space);
  }
  const auto size = Variable(environment, "OMPI_COMM_WORLD_SIZE");
  const auto local_size = Variable(environment, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (address.has_value() && size.has_value() && size == local_size) {
    address->host = kLoopback;
  }
  return address;
}

absl::StatusOr<std::optional<HostPort>> SkyPilotCoordinator(
    const Environment& environment) {
  constexpr char kAddresses[] = "SKYPILOT_NODE_IPS";
  const std::optional<std::string> list = Variable(environment, kAddresses);
  if (!list.has_value()) return std::nullopt;
  const std::vector<std::string> addresses =
      absl::StrSplit(*list, absl::ByAnyChar("\n ,"), absl::SkipEmpty());
  const absl::StatusOr<HostPort> first = ParseHostPort(
      addresses.empty() ? "" : addresses.front(), kCoordinatorPort);
  if (!first.ok()) return Annotate(first.status(), kAddresses);
  return HostPort{addresses.size() == 1 ? kLoopback : first->host,
                  kCoordinatorPort};
}

absl::StatusOr<std::optional<HostPort>> GivenCoordinator(
    const Environment& environment) {
  struct Names {
    const char* address;
    const char* port;
  };
  constexpr Names kGiven[] = {
      {"MESHWRIGHT_COORDINATOR", nullptr},
      {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_PORT"},
      {"MASTER_ADDR", "MASTER_PORT"}};
  for (const Names& names : kGiven) {
    MW_ASSIGN_OR_RETURN(const std::optional<HostPort> address,
                        AddressVariable(environment, names.address, names.port,
                                        kCoordinatorPort));
    if (address.has_value()) return address;
  }
  return std::nullopt;
}

}  // namespace meshwright
