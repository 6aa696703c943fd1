// meshwright launch: starts workers on all hosts of a cluster, and a
// coordinator if there is none.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/launch_workers.h"
#include "meshwright/cli/security_flags.h"
#include "meshwright/cli/serving.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {
namespace {

// Time between SIGTERM and SIGKILL; a coordinator that ends has told its
// workers before.
constexpr absl::Duration kGrace = absl::Seconds(3);

const CommandSpec& LaunchSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "launch",
        .summary = "start workers on the hosts of a cluster",
        .positional = {},
        .flags = {
            {"cluster", "C",
             "a cluster file: a worker on each host, by ssh where it is not "
             "this one; or cpu:8"},
            {"join", "HOST:PORT",
             "their coordinator (default: this command is one)"},
            {"workers", "W", "for cpu:8: share its devices (default 1)"},
            {"ray", "ADDRESS",
             "on hosts of this Ray cluster (auto: the local)"},
            {"ssh", "COMMAND", "with options, blanks between (default ssh)"},
            {"program", "PATH",
             "meshwright on the other hosts (default meshwright)"},
            {"platform", "NAME",
             "cpu, cuda, tpu (default: the fastest there)"}}};
    made->flags.push_back(FfiFlag());
    for (FlagSpec& flag : ServingFlags()) made->flags.push_back(flag);
    for (FlagSpec& flag : SecurityFlags()) made->flags.push_back(flag);
    return made;
  }();
  return *spec;
}

using Children = std::vector<std::shared_ptr<ChildProcess>>;

// How the processes ended that were started here. Thread-safe.
class Obituaries {
 public:
  void Add(std::shared_ptr<ChildProcess> child) {
    const std::lock_guard lock(mutex_);
    children_.push_back(std::move(child));
  }

  std::string Of(const proto::Hello& hello) const {
    std::shared_ptr<ChildProcess> child;
    {
      const std::lock_guard lock(mutex_);
      const auto found = std::ranges::find(
          children_, hello.pid(), [](const auto& one) { return one->pid(); });
      if (found == children_.end()) return "";
      child = *found;
    }
    // The connection ends slightly before the process.
    const auto status = child->Wait(absl::Seconds(2));
    if (!status.has_value()) return "";
    return absl::StrCat(status->signal != 0 ? "was " : "ended with ",
                        status->ToString());
  }

 private:
  mutable std::mutex mutex_;
  Children children_;
};

// The address at which workers reach the coordinator of this process.
absl::StatusOr<std::string> JoinOf(const std::string& listen, int port) {
  MW_ASSIGN_OR_RETURN(HostPort address, ParseAddress(listen));
  address.port = port;
  const bool is_everywhere = address.host == "0.0.0.0" || address.host == "::";
  return is_everywhere ? absl::StrCat(":", port) : address.ToString();
}

absl::Status CheckReachable(const std::vector<WorkerStart>& starts,
                            const std::string& join) {
  MW_ASSIGN_OR_RETURN(const HostPort address, ParseAddress(join));
  if (!address.IsLoopback()) return absl::OkStatus();
  for (const WorkerStart& start : starts) {
    if (start.host.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        start.host, " does not reach ", join,
        "; give --listen an address that it does, with --tls-cert, --tls-key, "
        "--tls-ca and --token-file"));
  }
  return absl::OkStatus();
}

// Waits until a signal comes or all have ended.
absl::Status Watch(const Children& children, const EndRequest& end,
                   Serving* serving) {
  std::vector<bool> has_ended(children.size());
  std::string first;  // The first that failed.
  size_t running = children.size();
  while (running > 0) {
    if (end.Wait(std::chrono::milliseconds(100)) != 0) return absl::OkStatus();
    if (serving != nullptr) serving->Look();
    for (size_t i = 0; i < children.size(); ++i) {
      if (has_ended[i]) continue;
      const auto status = children[i]->Wait(absl::ZeroDuration());
      if (!status.has_value()) continue;
      has_ended[i] = true;
      --running;
      if (status->ok()) continue;
      const std::string what =
          absl::StrCat(children[i]->name(), ": ", status->ToString());
      absl::FPrintF(stderr, "%s\n", what);
      if (first.empty()) first = what;
    }
  }
  if (first.empty()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("all workers have ended; the first, ", first));
}

absl::Status RunLaunch(const CommandLine& line) {
  if (!line.Has("cluster")) {
    return absl::InvalidArgumentError(
        "--cluster says where to start workers: a cluster file, or cpu:8");
  }
  MW_ASSIGN_OR_RETURN(const Cluster cluster,
                      LoadCluster(line.Text("cluster", "")));
  std::optional<int64_t> count;
  if (line.Has("workers")) {
    MW_ASSIGN_OR_RETURN(count, line.Integer("workers", 1, {1, 4096}));
  }
  MW_RETURN_IF_ERROR(line.CheckNotBoth("join", "listen"));
  MW_RETURN_IF_ERROR(line.CheckNotBoth("ray", "ssh"));
  MW_ASSIGN_OR_RETURN(ServingOptions serve, ServingOptionsOf(line));
  MW_ASSIGN_OR_RETURN(const std::vector<WorkerStart> starts,
                      WorkerStarts(cluster, {.workers = count,
                                             .is_anywhere = line.Has("ray")}));
  LaunchOptions options{
      .join = line.Text("join", serve.listen),
      .platform = line.Text("platform", cluster.IsCpu() ? "cpu" : ""),
      .program = line.Text("program", "meshwright"),
      .ssh = absl::StrSplit(line.Text("ssh", "ssh"), ' ', absl::SkipEmpty()),
      .further = SecurityWords(line)};
  for (std::string& word : FfiWords(line)) {
    options.further.push_back(std::move(word));
  }
  MW_RETURN_IF_ERROR(CheckReachable(starts, options.join));
  const EndRequest end;
  Obituaries obituaries;
  Children children;
  std::unique_ptr<Serving> serving;
  if (!line.Has("join")) {
    serve.cluster = cluster;
    serve.workers = static_cast<int>(starts.size());
    serve.obituary = [&obituaries](const proto::Hello& hello) {
      return obituaries.Of(hello);
    };
    MW_ASSIGN_OR_RETURN(serving, Serving::Start(serve));
    MW_ASSIGN_OR_RETURN(options.join, JoinOf(serve.listen, serving->port()));
  }
  if (line.Has("ray")) {
    MW_ASSIGN_OR_RETURN(
        ChildOptions child,
        RayProcess(line.Text("ray", ""), starts, cluster, options));
    MW_ASSIGN_OR_RETURN(children.emplace_back(),
                        ChildProcess::Start(std::move(child)));
  } else {
    for (const WorkerStart& start : starts) {
      MW_ASSIGN_OR_RETURN(ChildOptions child, WorkerProcess(start, options));
      MW_ASSIGN_OR_RETURN(children.emplace_back(),
                          ChildProcess::Start(std::move(child)));
      obituaries.Add(children.back());
    }
  }
  const absl::Status status = Watch(children, end, serving.get());
  serving = nullptr;  // Tells its workers to end.
  std::vector<ChildProcess*> all;
  for (const auto& child : children) all.push_back(child.get());
  TerminateAll(all, kGrace);
  return status;
}

}  // namespace

extern const Command kLaunchCommand = {&LaunchSpec, &RunLaunch};

}  // namespace meshwright
