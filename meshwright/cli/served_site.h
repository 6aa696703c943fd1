// The coordinator on which `meshwright run --serve-at` runs its steps.
#ifndef MESHWRIGHT_CLI_SERVED_SITE_H_
#define MESHWRIGHT_CLI_SERVED_SITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/process_end.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/hlo/module.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

class ServedSite {
 public:
  // --serve-at, --replace, and the security flags.
  static std::vector<FlagSpec> Flags();
  // kInvalidArgument for flags that have no meaning there.
  static absl::StatusOr<std::unique_ptr<ServedSite>> Connect(
      const CommandLine& line);

  // Loads the module that `line` names, with --plan or with a plan that the
  // coordinator makes for its cluster. The job is stopped when the runner is
  // destroyed, also after a signal. All arguments must outlive the runner.
  absl::StatusOr<std::unique_ptr<Runner>> Load(const Module& module,
                                               const CommandLine& line);

  // The signal that interrupted the work; 0: none.
  int signal() const { return call_.signal(); }

  // Once it is loaded.
  int64_t devices() const { return devices_; }
  int workers() const { return workers_; }
  const std::string& platform() const { return platform_; }
  const std::string& device_kind() const { return device_kind_; }

 private:
  class Call : public JobCall {
   public:
    bool cancelled() const override { return signal() != 0; }
    int signal() const { return end_.signal(); }

   private:
    const EndRequest end_;
  };

  explicit ServedSite(std::unique_ptr<JobService> jobs)
      : jobs_(std::move(jobs)) {}

  absl::Status StopJobs();
  absl::Status Describe();

  Call call_;
  const std::unique_ptr<JobService> jobs_;
  int64_t devices_ = 0;
  int workers_ = 0;
  std::string platform_;
  std::string device_kind_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SERVED_SITE_H_
