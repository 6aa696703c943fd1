// Measures what the devices at hand achieve.
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

// One thing that was timed.
struct Sample {
  std::string what;  // "matmul f32", "all-reduce"
  double size = 0;   // FLOPs or bytes; 0 where it has none.
  int64_t group = 1;
  double seconds = 0;

  bool operator==(const Sample&) const = default;
};

struct Calibration {
  Rates rates;
  std::vector<Sample> samples;
};

struct CalibrateOptions {
  double seconds = 45;  // For all of it, compilation aside.
  // On a CPU: count processor time, as others use the machine too.
  bool cpu_time = false;
};

// On all devices of the cluster, which are the first of the client's; shows
// progress on a terminal. Links beyond the innermost level are as assumed.
absl::StatusOr<Calibration> Calibrate(Client& client, const Cluster& cluster,
                                      const CalibrateOptions& options);

// The kind in the table that a platform's name of a device means: "h200" for
// "NVIDIA H200"; empty if none.
std::string KindOf(const std::string& device_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CALIBRATE_H_
