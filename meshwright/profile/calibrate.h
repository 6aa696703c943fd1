// Measures what the available devices achieve.
//
//   MW_ASSIGN_OR_RETURN(Calibration made, Calibrate(*client, cluster, {}));
//   made.rates;      // Everything that could be measured is `calibrated`.
//   made.samples;    // {"all-reduce", group 8, 65536 bytes, 210 us}, ...
#ifndef MESHWRIGHT_PROFILE_CALIBRATE_H_
#define MESHWRIGHT_PROFILE_CALIBRATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

class Client;

// A single measurement.
struct Sample {
  std::string what;  // "matmul f32", "all-reduce"
  double size = 0;   // FLOPs or bytes; 0 if not applicable.
  int64_t group = 1;
  double seconds = 0;

  bool operator==(const Sample&) const = default;
};

struct Calibration {
  Rates rates;
  std::vector<Sample> samples;
};

struct CalibrateOptions {
  double seconds = 45;  // In total, without compilation.
  // On a CPU: measure processor time, because the machine is shared.
  bool cpu_time = false;
};

// Uses all devices of the cluster, which are the first of the client's; shows
// progress on a terminal. Links beyond the innermost level keep their assumed
// rates.
absl::StatusOr<Calibration> Calibrate(Client& client, const Cluster& cluster,
                                      const CalibrateOptions& options);

// The kind in the table of a platform's device name: "h200" for "NVIDIA H200";
// empty if there is none.
std::string KindOf(const std::string& device_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CALIBRATE_H_
