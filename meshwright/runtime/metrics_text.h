// The latest figures of jobs in the format of Prometheus.
//
//   # HELP meshwright_step_seconds Duration of the last step.
//   # TYPE meshwright_step_seconds gauge
//   meshwright_step_seconds{job="1"} 0.081
#ifndef MESHWRIGHT_RUNTIME_METRICS_TEXT_H_
#define MESHWRIGHT_RUNTIME_METRICS_TEXT_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "meshwright/runtime/step_metrics.h"

namespace meshwright {

// Of a coordinator.
struct ServerFigures {
  int64_t workers = 0;   // Live ones.
  int64_t expected = 0;  // Workers.
  int64_t devices = 0;   // Of live workers.
};

// Thread-safe.
class LastFigures {
 public:
  void Set(const StepFigures& figures);
  void Forget(int64_t job);
  // In the text exposition format, version 0.0.4.
  std::string Text(const ServerFigures& server) const;

 private:
  struct Entry {
    StepFigures last;
    int64_t steps = 0;
    double seconds = 0;  // Total.
  };

  mutable std::mutex mutex_;
  std::map<int64_t, Entry> jobs_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_METRICS_TEXT_H_
