// Saves and restores the state of a job, one save at a time.
#ifndef MESHWRIGHT_RUNTIME_STATE_SAVER_H_
#define MESHWRIGHT_RUNTIME_STATE_SAVER_H_

#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/checkpoint/save_options.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/save_plan.h"

namespace meshwright {

class StateSaver {
 public:
  // The site must outlive it.
  explicit StateSaver(JobSite* site) : site_(*site) {}
  ~StateSaver();  // Waits for a save in progress.

  // As in Runner.
  absl::Status Save(const SaveOptions& options, StateMap map);
  absl::Status AwaitSaved();
  // Sets `is_touched` once state may have changed.
  absl::StatusOr<RestoredState> Restore(const std::string& directory,
                                        const StateMap& map, bool* is_touched);

 private:
  JobSite& site_;
  std::thread thread_;  // Of the save in progress.
  absl::Status saved_;  // Written by the thread; valid once it is joined.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STATE_SAVER_H_
