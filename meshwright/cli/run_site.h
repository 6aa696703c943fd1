// Where `meshwright run` runs its steps, and what it needs for that.
#ifndef MESHWRIGHT_CLI_RUN_SITE_H_
#define MESHWRIGHT_CLI_RUN_SITE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/line_file.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/cli/served_site.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/partition/partition.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/job_runner.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/service/local_workers.h"

namespace meshwright {

// Devices.
struct RunSite {
  std::unique_ptr<Client> client;       // Null with workers.
  std::unique_ptr<CompileCache> cache;  // Likewise.
  std::unique_ptr<LocalWorkers> workers;
  int worker_count = 0;  // 0: none but this process.
  int64_t devices = 1;
  std::string platform;
  std::string device_kind;

  Where where() const {
    if (client != nullptr) return OnDevices(client.get(), cache.get());
    return &workers->coordinator();
  }
};

// A step that is ready to run. Members are destroyed in reverse order.
struct Running {
  std::optional<StagedModule> staged;
  std::optional<Partitioned> split;
  std::unique_ptr<ServedSite> served;
  RunSite site;
  std::unique_ptr<LineFile> metrics;
  std::unique_ptr<Runner> runner;
  JobRunner* job = nullptr;             // Null when served.
  const JobRunner* pipeline = nullptr;  // The job, if it has stages.
  double compile_seconds = 0;
};

// According to the flags: here, in worker processes of this command, or by a
// coordinator (--serve-at). `module` must outlive the result.
absl::Status StartRunning(const Module& module, const CommandLine& line,
                          Running& running);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_RUN_SITE_H_
