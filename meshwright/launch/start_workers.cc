#include "meshwright/launch/start_workers.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/launch/environment.h"
#include "meshwright/launch/ray_command.h"
#include "meshwright/launch/ssh_command.h"
#include "meshwright/launch/worker_command.h"

namespace meshwright {
namespace {

// The program and its words.
std::vector<std::string> Command(const WorkersOptions& options,
                                 std::optional<int> rank,
                                 std::optional<int64_t> devices) {
  std::vector<std::string> words =
      WorkerArguments({.join = options.join,
                       .rank = rank,
                       .devices = devices,
                       .platform = options.platform});
  words.insert(words.begin(), options.program);
  return words;
}

ChildOptions Child(const WorkersOptions& options, int rank) {
  ChildOptions child = {.name = absl::StrCat("worker ", rank)};
  if (!options.log_folder.empty()) {
    child.log_path = absl::StrCat(options.log_folder, "/worker-", rank, ".log");
  }
  return child;
}

std::optional<int64_t> DevicesOf(const Host& host,
                                 const WorkersOptions& options) {
  return options.devices.has_value() ? options.devices : host.devices;
}

}  // namespace

absl::StatusOr<Workers> StartLocalWorkers(int count,
                                          const WorkersOptions& options) {
  Workers workers;
  for (int rank = 0; rank < count; ++rank) {
    ChildOptions child = Child(options, rank);
    child.argv = Command(options, rank, options.devices);
    child.environment = options.environment;
    MW_ASSIGN_OR_RETURN(workers.emplace_back(),
                        ChildProcess::Start(std::move(child)));
  }
  return workers;
}

absl::StatusOr<Workers> StartSshWorkers(const Cluster& cluster,
                                        const WorkersOptions& options) {
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, SshHosts(cluster));
  Workers workers;
  for (int rank = 0; rank < std::ssize(hosts); ++rank) {
    ChildOptions child = Child(options, rank);
    const std::optional<int64_t> devices =
        DevicesOf(cluster.hosts[rank], options);
    child.argv = SshCommand({.host = hosts[rank],
                             .argv = Command(options, rank, devices),
                             .environment = options.environment,
                             .ssh = options.ssh});
    child.hold_stdin = true;
    MW_ASSIGN_OR_RETURN(workers.emplace_back(),
                        ChildProcess::Start(std::move(child)));
  }
  return workers;
}

absl::StatusOr<Workers> StartRayWorkers(const std::string& address,
                                        const Cluster& cluster,
                                        const WorkersOptions& options) {
  const std::optional<int64_t> devices = DevicesOf(cluster.hosts[0], options);
  ChildOptions child = {.name = "ray"};
  child.argv = RayCommand(
      {.address = address,
       .workers = std::ssize(cluster.hosts),
       .gpus = cluster.IsCpu() || options.platform == "cpu" ? 0 : *devices,
       .argv = Command(options, std::nullopt, devices),
       .environment = options.environment},
      ProcessEnvironment());
  // Its lines have names already.
  child.on_line = [](absl::string_view line) { PrintLine(line); };
  Workers workers;
  MW_ASSIGN_OR_RETURN(workers.emplace_back(),
                      ChildProcess::Start(std::move(child)));
  return workers;
}

absl::Status AwaitWorkers(
    absl::Span<const std::unique_ptr<ChildProcess>> workers,
    absl::Duration grace) {
  const std::optional<size_t> failed = ChildProcess::WaitForFailure(workers);
  if (!failed.has_value()) return absl::OkStatus();
  const ExitStatus how = *workers[*failed]->Wait(absl::ZeroDuration());
  TerminateAll(workers, grace);
  return absl::UnavailableError(
      absl::StrCat(workers[*failed]->name(), ": ", how.ToString()));
}

}  // namespace meshwright
