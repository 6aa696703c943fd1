#include "meshwright/runtime/job_site.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/data/dataset.h"
#include "meshwright/runtime/data_feed.h"

namespace meshwright {

absl::Status JobSite::Feed(const DatasetSpec* spec, int64_t position) {
  if (spec == nullptr) {
    return std::exchange(position_, std::nullopt).has_value()
               ? FeedWorkers(nullptr, 0)
               : absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(const auto parameters, FedParameters(job(), *spec));
  MW_ASSIGN_OR_RETURN(batch_, BatchOf(*spec, parameters));
  MW_RETURN_IF_ERROR(FeedWorkers(spec, position));
  position_ = position;
  return absl::OkStatus();
}

void JobSite::Complete(int64_t number, StepReport& report) {
  if (position_.has_value()) {
    *position_ += batch_;
    report.position = position_;
  }
  if (on_step_ != nullptr) on_step_(number + step_offset_, report);
}

}  // namespace meshwright
