#include "meshwright/planner/variants.h"

#include "meshwright/base/side_by_side.h"

namespace meshwright {

Variants::Variants(const Variants& other)
    : module_(other.module_), context_(other.context_) {
  const std::lock_guard lock(other.mutex_);
  for (const auto& [key, entry] : other.entries_) {
    if (entry->made == nullptr) continue;
    auto copy = std::make_shared<Entry>();
    std::call_once(copy->once, [&] { copy->made = entry->made; });
    entries_[key] = std::move(copy);
  }
}

Variants::Made Variants::Get(int64_t count, Recompute recompute) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& known = entries_[{recompute, count}];
    if (known == nullptr) known = std::make_shared<Entry>();
    entry = known;
  }
  std::call_once(entry->once, [&] {
    // The rematerialised module of the one without micro-batches is used again.
    const std::shared_ptr<const Made> whole =
        count > 1 ? Known(1, recompute) : nullptr;
    auto made = std::make_shared<const Made>(
        whole != nullptr && whole->ok()
            ? StepVariant::Recomputing((**whole)->step.recomputing(), count,
                                       recompute, context_)
            : StepVariant::Of(module_, count, recompute, context_));
    const std::lock_guard lock(mutex_);
    entry->made = std::move(made);
  });
  return *entry->made;
}

void Variants::Make(std::span<const std::pair<int64_t, Recompute>> wanted) {
  SideBySide(static_cast<int>(wanted.size()), [&](int i) {
    Get(wanted[i].first, wanted[i].second).IgnoreError();
  });
}

std::vector<int64_t> Variants::CountsMade(Recompute recompute) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> counts;
  for (const auto& [key, entry] : entries_) {
    if (key.first == recompute && entry->made != nullptr && entry->made->ok()) {
      counts.push_back(key.second);
    }
  }
  return counts;
}

std::shared_ptr<const Variants::Made> Variants::Known(
    int64_t count, Recompute recompute) const {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find({recompute, count});
  return entry == entries_.end() ? nullptr : entry->second->made;
}

}  // namespace meshwright
