#include "meshwright/cli/launch_workers.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/environment.h"
#include "meshwright/launch/host_port.h"
#include "meshwright/launch/ray_command.h"
#include "meshwright/launch/ssh_command.h"
#include "meshwright/launch/worker_command.h"
#include "meshwright/service/address.h"
#include "meshwright/service/own_address.h"

namespace meshwright {
namespace {

// Whether this machine can listen at that address.
bool IsThisMachine(const std::string& host) {
  return TryListen({.host = host, .port = 0}).ok();
}

std::vector<std::string> WordsOf(const WorkerStart& start,
                                 const LaunchOptions& options,
                                 std::string join) {
  std::vector<std::string> words =
      WorkerArguments({.join = std::move(join),
                       .rank = start.rank,
                       .devices = start.devices,
                       .platform = options.platform});
  words.insert(words.end(), options.further.begin(), options.further.end());
  return words;
}

// The address ":7777" as the host reaches it.
absl::StatusOr<std::string> JoinAddress(const LaunchOptions& options,
                                        const std::string& host) {
  if (!absl::StartsWith(options.join, ":")) return options.join;
  if (host.empty()) return absl::StrCat("127.0.0.1", options.join);
  // A user name, for instance, is for ssh only.
  const std::string name = host.substr(host.find('@') + 1);
  MW_ASSIGN_OR_RETURN(
      const std::string own,
      OwnAddressTowards(HostPort{.host = name, .port = 22}.ToString()));
  return absl::StrCat(
      absl::StrContains(own, ':') ? absl::StrCat("[", own, "]") : own,
      options.join);
}

}  // namespace

absl::StatusOr<std::vector<WorkerStart>> WorkerStarts(
    const Cluster& cluster, const StartOptions& options) {
  std::vector<WorkerStart> starts;
  const std::vector<Host>& hosts = cluster.hosts;
  if (cluster.shared_host) {
    const int64_t devices = cluster.device_count();
    const int64_t workers = options.workers.value_or(1);
    if (workers > devices) {
      return absl::InvalidArgumentError(
          absl::StrCat("--workers ", workers, ": the cluster has ", devices,
                       " devices, so some would have none"));
    }
    for (int64_t rank = 0; rank < workers; ++rank) {
      const int64_t own =
          devices / workers + (rank < devices % workers ? 1 : 0);
      starts.push_back({.rank = static_cast<int>(rank), .devices = own});
    }
    return starts;
  }
  if (options.workers.has_value()) {
    return absl::InvalidArgumentError(
        "--workers is for virtual devices (cpu:8); other clusters have one "
        "worker for each host");
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    WorkerStart start{.rank = static_cast<int>(i)};
    if (cluster.IsCpu()) start.devices = hosts[i].devices;
    if (options.is_anywhere) {
      // Ray chooses the hosts.
    } else if (hosts[i].address.empty()) {
      if (hosts.size() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("hosts[", i,
                         "] has no \"address\"; write a cluster file with the "
                         "addresses of all hosts, or use --ray"));
      }
    } else {
      const absl::StatusOr<HostPort> parsed =
          ParseHostPort(hosts[i].address, kCoordinatorPort);
      if (!parsed.ok()) {
        return Annotate(parsed.status(), absl::StrCat("hosts[", i, "]"));
      }
      if (!IsThisMachine(parsed->host)) start.host = parsed->host;
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

absl::StatusOr<ChildOptions> WorkerProcess(const WorkerStart& start,
                                           const LaunchOptions& options) {
  MW_ASSIGN_OR_RETURN(std::string join, JoinAddress(options, start.host));
  const std::vector<std::string> words =
      WordsOf(start, options, std::move(join));
  ChildOptions child{.name = absl::StrCat("worker ", start.rank)};
  if (start.host.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string program, ProgramPath());
    child.argv = {program};
    child.argv.insert(child.argv.end(), words.begin(), words.end());
  } else {
    std::vector<std::string> argv = {options.program};
    argv.insert(argv.end(), words.begin(), words.end());
    child.argv = SshCommand(
        {.host = start.host, .argv = std::move(argv), .ssh = options.ssh});
    child.hold_stdin = true;
  }
  return child;
}

absl::StatusOr<ChildOptions> RayProcess(const std::string& address,
                                        const std::vector<WorkerStart>& starts,
                                        const Cluster& cluster,
                                        const LaunchOptions& options) {
  if (absl::StartsWith(options.join, ":")) {
    return absl::InvalidArgumentError(
        "--ray needs a --listen with an address of this machine that its hosts "
        "reach");
  }
  // Ray assigns --rank.
  std::vector<std::string> argv = {options.program};
  for (std::string& word :
       WorkerArguments({.join = options.join,
       .devices = starts.empty() ? std::nullopt : starts[0].devices,
       .platform = options.platform})) {
    argv.push_back(std::move(word));
  }
  argv.insert(argv.end(), options.further.begin(), options.further.end());
  return ChildOptions{
      .argv =
          RayCommand({.address = address,
                      .workers = std::ssize(starts),
                      .gpus = cluster.IsCpu() ? 0 : cluster.devices_per_host(),
                      .argv = std::move(argv)},
                     ProcessEnvironment()),
      .name = "ray",
      // Its lines already contain names.
      .on_line = [](absl::string_view line) {
        absl::FPrintF(stderr, "%s\n", line);
      }};
}

}  // namespace meshwright
