#include "meshwright/service/local_workers.h"

#include <sched.h>

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/launch/worker_command.h"

namespace meshwright {
namespace {

// Only the workers that we start are let in.
std::string RandomToken() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&token, absl::Hex(random()));
  return token;
}

// The share of the cores that a worker gets; empty: all. Each would take as
// many threads as it sees cores.
std::string CoresOf(int rank, int count) {
  cpu_set_t cores;
  if (count == 1 || sched_getaffinity(0, sizeof(cores), &cores) != 0) return "";
  const int all = CPU_COUNT(&cores);
  // Only where they are the first ones, none left out.
  for (int core = 0; core < all; ++core) {
    if (!CPU_ISSET(core, &cores)) return "";
  }
  if (all < count) return "";
  return absl::StrCat(rank * all / count, "-", (rank + 1) * all / count - 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalWorkers>> LocalWorkers::Start(
    const Options& options) {
  std::unique_ptr<LocalWorkers> workers(new LocalWorkers());
  const std::string token = RandomToken();
  workers->coordinator_ = std::make_unique<Coordinator>(Coordinator::Options{
      .limits = options.limits,
      .obituary = [self = workers.get()](const proto::Hello& hello) {
        return self->Obituary(hello);
      }});
  MW_ASSIGN_OR_RETURN(
      workers->server_,
      WorkerServer::Start(
          {.security = {.token = token},
           .on_join =
               [self = workers.get()](std::unique_ptr<WorkerLink> link) {
                 self->coordinator_->Admit(std::move(link));
               },
           .store = &workers->store_}));
  MW_RETURN_IF_ERROR(workers->Launch(options, token));
  MW_RETURN_IF_ERROR(workers->AwaitJoin(options));
  return workers;
}

absl::Status LocalWorkers::Launch(const Options& options,
                                  const std::string& token) {
  std::string program = options.program;
  if (program.empty()) {
    MW_ASSIGN_OR_RETURN(program, ProgramPath());
  }
  for (int rank = 0; rank < options.count; ++rank) {
    ChildOptions child{.argv = {program},
                       .environment = {{"MESHWRIGHT_TOKEN", token}},
                       .name = absl::StrCat("worker ", rank)};
    for (std::string& word :
         WorkerArguments({.join = absl::StrCat("127.0.0.1:", server_->port()),
         .rank = rank,
         .devices = options.devices,
         .platform = options.platform})) {
      child.argv.push_back(std::move(word));
    }
    child.argv.insert(child.argv.end(), options.further.begin(),
                      options.further.end());
    if (const std::string cores = CoresOf(rank, options.count);
        !cores.empty()) {
      child.argv.push_back(absl::StrCat("--cores=", cores));
    }
    MW_ASSIGN_OR_RETURN(children_.emplace_back(),
                        ChildProcess::Start(std::move(child)));
  }
  return absl::OkStatus();
}

absl::Status LocalWorkers::AwaitJoin(const Options& options) {
  const absl::Time end = SteadyNow() + options.join_timeout;
  while (true) {
    const absl::Status joined =
        coordinator_->AwaitWorkers(options.count, absl::Milliseconds(200));
    if (!absl::IsDeadlineExceeded(joined)) return joined;
    if (const auto ended =
            ChildProcess::WaitForAny(children_, absl::ZeroDuration())) {
      return absl::UnavailableError(
          absl::StrCat(children_[*ended]->name(), " ended before it joined: ",
                       children_[*ended]->Wait(absl::Seconds(1))->ToString()));
    }
    if (SteadyNow() > end) return joined;
  }
}

std::string LocalWorkers::Obituary(const proto::Hello& hello) const {
  for (const std::unique_ptr<ChildProcess>& child : children_) {
    if (child->pid() != hello.pid()) continue;
    // The connection ends a moment before the process does.
    const auto status = child->Wait(absl::Seconds(2));
    if (!status.has_value()) return "";
    return absl::StrCat(status->signal != 0 ? "was " : "ended with ",
                        status->ToString());
  }
  return "";
}

LocalWorkers::~LocalWorkers() {
  // First they end, then the connections: who is cut off says so.
  if (coordinator_ != nullptr) coordinator_->EndWorkers();
  for (const std::unique_ptr<ChildProcess>& child : children_) {
    child->Wait(absl::Seconds(1));
  }
  coordinator_ = nullptr;
  server_ = nullptr;
}

}  // namespace meshwright
