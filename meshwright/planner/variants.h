// The variants of a step that a search asks for, each made once.
//
//   Variants variants(module, context);
//   variants.Get(4, Recompute::kFull);      // Makes it.
//   variants.Get(4, Recompute::kFull);      // The same one.
//   variants.CountsMade(Recompute::kFull);  // {4}
#ifndef MESHWRIGHT_PLANNER_VARIANTS_H_
#define MESHWRIGHT_PLANNER_VARIANTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/planner/step_variant.h"

namespace meshwright {

// Thread-safe.
class Variants {
 public:
  using Made = absl::StatusOr<std::shared_ptr<const StepVariant>>;

  // Both must outlive the variants.
  Variants(const Module& module, const StepContext& context)
      : module_(module), context_(context) {}
  // Has what `other` has by now. What either makes later, only that one has.
  Variants(const Variants& other);
  Variants& operator=(const Variants&) = delete;

  // Errors as StepVariant::Of; they are remembered, too.
  Made Get(int64_t count, Recompute recompute);

  // Makes these concurrently (micro-batch count, policy), as far as they are
  // possible.
  void Make(std::span<const std::pair<int64_t, Recompute>> wanted);

  // The micro-batch counts of the policy's variants so far, ascending.
  // Modelling a step takes long, so that searches may prefer these.
  std::vector<int64_t> CountsMade(Recompute recompute) const;

 private:
  struct Entry {
    std::once_flag once;
    // Null while it is being made.
    std::shared_ptr<const Made> made;
  };

  std::shared_ptr<const Made> Known(int64_t count, Recompute recompute) const;

  const Module& module_;
  const StepContext& context_;
  mutable std::mutex mutex_;  // Guards entries_, and `made` of each.
  std::map<std::pair<Recompute, int64_t>, std::shared_ptr<Entry>> entries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_VARIANTS_H_
