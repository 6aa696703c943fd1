#include "meshwright/cost/goodput.h"

#include <cmath>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// In units of the mean time between failures, as is BestInterval.
double Share(double interval, double save, double restart) {
  return interval / (std::exp(restart) * std::expm1(interval + save));
}

// The root of log(1 - t) + t + save, which decreases with t.
double BestInterval(double save) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::log1p(-middle) + middle + save > 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace

Goodput ExpectedGoodput(const FailureModel& model) {
  MW_CHECK(model.devices >= 1 && model.device_mtbf_seconds > 0);
  Goodput goodput;
  const double mtbf =
      model.device_mtbf_seconds / static_cast<double>(model.devices);
  goodput.mtbf_seconds = mtbf;
  const double save = model.save_seconds / mtbf;
  goodput.best_interval_seconds = mtbf * BestInterval(save);
  goodput.interval_seconds =
      model.interval_seconds.value_or(goodput.best_interval_seconds);
  MW_CHECK(goodput.interval_seconds >= 0);
  goodput.share =
      goodput.interval_seconds > 0
          ? Share(goodput.interval_seconds / mtbf, save,
                  model.restart_seconds / mtbf)
          : std::exp(-model.restart_seconds / mtbf);  // Saving takes no time.
  return goodput;
}

}  // namespace meshwright
