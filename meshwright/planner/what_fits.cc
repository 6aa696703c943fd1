#include "meshwright/planner/what_fits.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/check.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/find_plan.h"

namespace meshwright {
namespace {

constexpr double kGib = 1 << 30;

// A number in the format of --memory, not less than `bytes`.
std::pair<std::string, int64_t> Writable(int64_t bytes) {
  const double gib = static_cast<double>(bytes + 1) / kGib;
  // Three significant digits.
  const double last = std::floor(std::log10(gib)) - 2;
  const double digit = std::pow(10, last);
  const std::string text =
      absl::StrFormat("%.*f", std::max(0, -static_cast<int>(last)),
                      std::ceil(gib / digit) * digit);
  double read = 0;
  MW_CHECK(absl::SimpleAtod(text, &read));
  return {text, static_cast<int64_t>(read * kGib)};
}

// With more hosts by this factor, or more virtual devices.
Cluster Grown(const Cluster& cluster, int64_t factor) {
  Cluster grown = cluster;
  if (cluster.shared_host) {
    for (LinkLevel& level : grown.levels) level.devices *= factor;
    grown.hosts[0].devices *= factor;
    grown.hosts[0].local_ids.clear();
    return grown;
  }
  Host more;
  more.devices = cluster.devices_per_host();
  grown.hosts.resize(grown.hosts.size() * static_cast<size_t>(factor), more);
  grown.levels.back().devices *= factor;
  return grown;
}

}  // namespace

WhatFits FindWhatFits(const PlanTask& task,
                      const absl::StatusOr<Plan>& leanest) {
  const Cluster& cluster = task.cluster;
  const PlanRequest& request = task.request;
  WhatFits fits;
  if (leanest.ok()) {
    std::tie(fits.memory_gib, fits.memory_bytes) =
        Writable(leanest->predicted.peak_bytes);
  }
  // Pins refer to one mesh, and virtual devices have no memory of their own.
  if (request.annotations ||
      (cluster.shared_host && !request.memory_bytes.has_value())) {
    return fits;
  }
  const Stopwatch watch;
  SearchMode mode = task.mode;
  mode.leanest_below = task.memory_bytes + 1;
  PlanRequest again = request;
  again.record = nullptr;
  for (int64_t factor = 2;
       factor * cluster.device_count() <= task.policy.lean.most_devices &&
       watch.seconds() < request.time_limit_seconds;
       factor *= 2) {
    const Cluster grown = Grown(cluster, factor);
    int64_t devices = grown.device_count();
    if (request.mesh.has_value()) {
      std::vector<MeshAxis> axes = request.mesh->axes();
      axes[0].size *= factor;
      again.mesh = *Mesh::Create(std::move(axes));
      devices = again.mesh->device_count();
    }
    const absl::StatusOr<PlanChoice> found =
        MakePlanIn(task.module, grown, task.rates, again, mode, task.policy);
    if (found.ok() && found->plan.predicted.peak_bytes <= task.memory_bytes) {
      fits.devices = devices;
      return fits;
    }
    fits.most_devices = devices;
  }
  return fits;
}

absl::Status StagesDoNotFit(const Plan& plan, int64_t limit) {
  const auto [gib, bytes] = Writable(plan.predicted.peak_bytes);
  return absl::ResourceExhaustedError(absl::StrCat(
      "with ", plan.stages(), " stages the step does not fit into ",
      FormatBytes(limit), " on each device; ", FormatBytes(bytes),
      " would do (--memory ", gib,
      "), and without --stages any number is "
      "tried"));
}

absl::Status DoesNotFit(const WhatFits& fits, int64_t devices, int64_t limit) {
  std::string line =
      absl::StrCat("the step does not fit into ", FormatBytes(limit),
                   " on each of ", devices, " devices");
  if (!fits.memory_gib.empty()) {
    absl::StrAppend(&line, "; ", FormatBytes(fits.memory_bytes),
                    " would do (--memory ", fits.memory_gib, ")");
  }
  if (fits.devices.has_value()) {
    absl::StrAppend(&line, fits.memory_gib.empty() ? "; " : ", or ",
                    *fits.devices, " such devices",
                    fits.memory_gib.empty() ? " would do" : "");
  } else if (fits.most_devices > 0) {
    absl::StrAppend(&line, "; ", fits.most_devices,
                    " such devices would not either");
  }
  if (!fits.no_micro_batches.empty()) {
    absl::StrAppend(&line, "; micro-batches would take less, but cannot be: ",
                    fits.no_micro_batches);
  }
  return absl::ResourceExhaustedError(line);
}

}  // namespace meshwright
