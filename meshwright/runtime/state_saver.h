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
  // The site outlives it.
  explicit StateSaver(JobSite* site) : site_(*site) {}
  ~StateSaver();  // Waits for what is being saved.

  // As Runner's.
  absl::Status Save(const SaveOptions& options, StateMap map);
  absl::Status AwaitSaved();
  // `is_touched` is set once state may have changed.
  absl::StatusOr<RestoredState> Restore(const std::string& directory,
                                        const StateMap& map, bool* is_touched);

 private:
  JobSite& site_;
  std::thread thread_;  // Of the save that is under way.
  absl::Status saved_;  // The thread's, until it is joined.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STATE_SAVER_H_
