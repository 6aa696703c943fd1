// meshwright worker: runs jobs on the local devices, as a coordinator directs.
#include <sched.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/cache_flag.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/security_flags.h"
#include "meshwright/engine/open_plugin.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/launch/environment.h"
#include "meshwright/launch/join_role.h"
#include "meshwright/launch/line_relay.h"
#include "meshwright/launch/rank_discovery.h"
#include "meshwright/service/serve_worker.h"

namespace meshwright {
namespace {

const CommandSpec& WorkerSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "worker",
        .summary = "run jobs on this machine's devices for a coordinator",
        .positional = {},
        .flags = {
            {"join", "HOST:PORT",
             "the coordinator (default: as the launcher's environment says)"},
            {"rank", "R", "its place among the workers (default: any)"},
            {"devices", "N",
             "how many virtual devices, on the CPU (default 1)"},
            {"cores", "FIRST-LAST",
             "use only these cores of this machine (default: all)"},
            {"memory-fraction", "F",
             "how much of each GPU's memory to take (default 0.75)"},
            {"platform", "NAME", "cpu, cuda, tpu (default: the fastest there)"},
            CacheFlag(),
            {"connect-timeout", "S",
             "how long to try to reach the coordinator (default 60)"}}};
    made->flags.push_back(FfiFlag());
    for (FlagSpec& flag : SecurityFlags()) made->flags.push_back(flag);
    return made;
  }();
  return *spec;
}

// Compilers and CPU devices use as many threads as there are cores.
absl::Status KeepToCores(const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, '-');
  int first = 0;
  int last = 0;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) ||
      !absl::SimpleAtoi(ends[1], &last) || first < 0 || last < first ||
      last >= CPU_SETSIZE) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cores ", text, " is no range such as 0-7"));
  }
  for (int core = first; core <= last; ++core) CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof(cores), &cores) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cores ", text, ": this machine does not have them"));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> MemoryFraction(const CommandLine& line) {
  const std::string text = line.Text("memory-fraction", "");
  double fraction = 0;
  if (!absl::SimpleAtod(text, &fraction) || !(fraction > 0 && fraction <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--memory-fraction ", text, " is no number above 0, 1 at most"));
  }
  const std::string platform = line.Text("platform", "cuda");
  if (!absl::StartsWith(platform, "cuda")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--memory-fraction is for GPUs, not for ", platform));
  }
  return fraction;
}

// Returns once the coordinator listens; it ends with the returned object. If
// this process is lost, it tells clients so before it ends.
absl::StatusOr<std::unique_ptr<ChildProcess>> StartCoordinator(
    const JoinRole& role, const Discovered& found, const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  // Both live as long as their last user.
  const auto listens = std::make_shared<absl::Notification>();
  ChildOptions child{
      .argv = {program, "serve", "--listen", role.listen, "--until-eof",
               "--workers", absl::StrCat(found.world_size)},
      .name = "coordinator",
      .on_line =
          [listens](absl::string_view text) {
            PrintLineOf("coordinator", text);
            if (absl::StartsWith(text, "serving on ") &&
                !listens->HasBeenNotified()) {
              listens->Notify();
            }
          },
      .hold_stdin = true,
      .ends_with_stdin = true};
  for (std::string& word : SecurityWords(line)) {
    child.argv.push_back(std::move(word));
  }
  MW_ASSIGN_OR_RETURN(std::unique_ptr<ChildProcess> started,
                      ChildProcess::Start(std::move(child)));
  while (!listens->HasBeenNotified()) {
    const auto status = started->Wait(absl::Milliseconds(50));
    if (!status.has_value()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator at ", role.listen,
                     " could not be started: ", status->ToString()));
  }
  return started;
}

void EndAlone() {
  absl::FPrintF(stderr,
                "meshwright worker: its devices cannot be freed of those of "
                "other workers; start all again\n");
  EndProcess(3);
}

void EndStuck(const absl::Status& why, const std::function<void()>& renew,
              bool is_over) {
  absl::FPrintF(stderr,
                "meshwright worker: %s; what is under way does not end, "
                "so the process %s\n",
                why.message(), is_over ? "does" : "begins anew");
  if (is_over) EndProcess(3);
  renew();
}

absl::Status RunWorker(const CommandLine& line) {
  MW_RETURN_IF_ERROR(LoadFfiLibraries(line));
  MW_ASSIGN_OR_RETURN(const int64_t devices,
                      line.Integer("devices", 1, {1, 256}));
  MW_ASSIGN_OR_RETURN(int64_t rank, line.Integer("rank", -1, {0, 1 << 20}));
  MW_ASSIGN_OR_RETURN(const int64_t patience,
                      line.Integer("connect-timeout", 60, {1, 86400}));
  MW_ASSIGN_OR_RETURN(const Security security, ReadSecurity(line));
  std::string join = line.Text("join", "");
  // A separate process, so that a crash of the compiler does not end it.
  std::unique_ptr<ChildProcess> coordinator;
  if (!line.Has("rank") || join.empty()) {
    MW_ASSIGN_OR_RETURN(const std::optional<Discovered> found,
                        DiscoverRank(ProcessEnvironment()));
    if (found.has_value()) {
      absl::FPrintF(stderr, "%s\n", found->ToString());
      if (!line.Has("rank")) rank = found->rank;
      if (join.empty()) {
        MW_ASSIGN_OR_RETURN(const JoinRole role, RoleOf(*found));
        join = role.join;
        if (role.runs_coordinator) {
          MW_ASSIGN_OR_RETURN(coordinator,
                              StartCoordinator(role, *found, line));
        }
      }
    }
  }
  if (join.empty()) {
    return absl::InvalidArgumentError(
        "no coordinator to join; give --join HOST:PORT, or start it with a "
        "launcher (docs/launching.md)");
  }
  if (line.Has("cores")) {
    MW_RETURN_IF_ERROR(KeepToCores(line.Text("cores", "")));
  }
  ClientOptions client{.cpu_devices = static_cast<int>(devices)};
  std::string platform = line.Text("platform", "");
  if (line.Has("memory-fraction")) {
    MW_ASSIGN_OR_RETURN(client.values["memory_fraction"], MemoryFraction(line));
    if (platform.empty()) platform = "cuda";
  }
  // The worker's own coordinator would end with it.
  const std::function<void()> renew =
      coordinator == nullptr ? std::function<void()>(BeginAnew) : EndAlone;
  MW_ASSIGN_OR_RETURN(OpenedPlugin opened, OpenPlugin(platform, client));
  return ServeWorker({.join = join,
                      .security = security,
                      .rank = static_cast<int>(rank),
                      .opened = std::move(opened),
                      .client = client,
                      .connect_timeout = absl::Seconds(patience),
                      .cache = CacheFolderOf(line),
                      .renew = renew,
                      .stuck = [renew](const absl::Status& why, bool is_over) {
                        EndStuck(why, renew, is_over);
                      }});
}

}  // namespace

extern const Command kWorkerCommand = {&WorkerSpec, &RunWorker};

}  // namespace meshwright
