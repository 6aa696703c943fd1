// meshwright serve: a coordinator, which workers join and to which clients give
// jobs.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/cache_flag.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/ffi_flag.h"
#include "meshwright/cli/security_flags.h"
#include "meshwright/cli/serving.h"

namespace meshwright {
namespace {

const CommandSpec& ServeSpec() {
  static const auto* const spec = [] {
    auto* made = new CommandSpec{
        .name = "serve",
        .summary = "coordinate workers that join, for clients",
        .positional = {},
        .flags = {{"cluster", "C",
                   "a cluster file, or cpu:8, h200:4x8: to plan for when a "
                   "client does not say"},
                  {"workers", "N",
                   "load the first job when that many have joined (default: "
                   "one for each host of a cluster file)"},
                  {"own-devices", "",
                   "run jobs on the devices of this machine, in this process, "
                   "without workers"},
                  FfiFlag(),
                  CacheFlag(),
                  {"until-eof", "", "end when standard input does"},
                  {"shared-memory", "FD",
                   "tensors may lie in this memory, of whoever starts it: a "
                   "memfd that cannot shrink"},
                  {"step-socket", "FD",
                   "answer steps on this socket, too, whose other end is with "
                   "whoever starts it"}}};
    for (FlagSpec& flag : ServingFlags()) made->flags.push_back(flag);
    for (FlagSpec& flag : SecurityFlags()) made->flags.push_back(flag);
    return made;
  }();
  return *spec;
}

// What the process that starts this one has left it.
absl::StatusOr<std::optional<int>> Inherited(const CommandLine& line,
                                             const std::string& flag) {
  if (!line.Has(flag)) return std::nullopt;
  if (!line.Has("own-devices")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag, " is for --own-devices alone"));
  }
  MW_ASSIGN_OR_RETURN(const int64_t fd, line.Integer(flag, 0, {3, 1 << 20}));
  return static_cast<int>(fd);
}

// Null if there is none, or no room to map it.
absl::StatusOr<std::shared_ptr<const SharedMemory>> OpenMemory(
    const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const std::optional<int> fd,
                      Inherited(line, "shared-memory"));
  if (!fd.has_value()) return nullptr;
  auto memory = SharedMemory::Open(*fd);
  if (absl::IsResourceExhausted(memory.status())) return nullptr;
  if (memory.ok()) return memory;
  return Annotate(memory.status(), "--shared-memory");
}

// What serving takes to end after whoever started it: nobody else would notice
// if it did not.
constexpr std::chrono::seconds kLastTime(20);

void EndSoon() {
  std::thread([] {
    std::this_thread::sleep_for(kLastTime);
    EndProcess(3);
  }).detach();
}

// Whether the other end of standard input was closed. The input itself is
// ignored.
bool IsInputOver() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  if (poll(&input, 1, 0) <= 0) return false;
  std::array<char, 4096> ignored;
  return read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0;
}

absl::Status RunServe(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(ServingOptions options, ServingOptionsOf(line));
  int64_t hosts = 0;
  if (line.Has("cluster")) {
    MW_ASSIGN_OR_RETURN(options.cluster, LoadCluster(line.Text("cluster", "")));
    if (!options.cluster->shared_host)
      hosts = std::ssize(options.cluster->hosts);
  }
  MW_ASSIGN_OR_RETURN(const int64_t workers,
                      line.Integer("workers", hosts, {1, 1 << 20}));
  options.workers = static_cast<int>(workers);
  options.own_devices = line.Has("own-devices");
  if (options.own_devices) {
    if (line.Has("workers")) {
      return absl::InvalidArgumentError(
          "--own-devices has no workers to wait for: leave out --workers");
    }
    options.workers = 0;
  }
  for (const char* flag : {"ffi", "cache"}) {
    if (!line.Has(flag) || options.own_devices) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, " is for --own-devices; workers take it themselves"));
  }
  options.cache = CacheFolderOf(line);
  MW_RETURN_IF_ERROR(LoadFfiLibraries(line));
  MW_ASSIGN_OR_RETURN(options.memory, OpenMemory(line));
  MW_ASSIGN_OR_RETURN(options.step_socket, Inherited(line, "step-socket"));
  const EndRequest end;
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Serving> serving,
                      Serving::Start(options));
  const bool until_eof = line.Has("until-eof");
  // Whoever reads the output may be gone before clients are told.
  if (until_eof && !options.own_devices) OutliveReader();
  while (end.Wait(std::chrono::milliseconds(100)) == 0) {
    serving->Look();
    if (!until_eof || !IsInputOver()) continue;
    if (!options.own_devices) {
      EndSoon();
      serving->EndAfterStarter(end);
    }
    break;
  }
  serving->Look();
  return serving->status();
}

}  // namespace

extern const Command kServeCommand = {&ServeSpec, &RunServe};

}  // namespace meshwright
