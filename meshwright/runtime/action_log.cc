#include "meshwright/runtime/action_log.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace meshwright {

void ActionLog::Add(std::string what) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({Clock::now(), std::move(what)});
  if (entries_.size() > kKept) entries_.pop_front();
}

std::vector<std::string> ActionLog::Last() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> lines;
  for (const Entry& entry : entries_) {
    const std::chrono::duration<double> age = Clock::now() - entry.when;
    lines.push_back(absl::StrFormat("%s, %.1f s ago", entry.what, age.count()));
  }
  return lines;
}

}  // namespace meshwright
