#include "meshwright/wire/shm_neighbors.h"

#include <sys/stat.h>

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/futex.h"

namespace meshwright {
namespace {

// A string that is equal for workers that see the same processes; empty if
// unknown.
std::string HostMark() {
  const auto boot = ReadFile("/proc/sys/kernel/random/boot_id");
  struct stat processes = {};
  if (!boot.ok() || stat("/proc/self/ns/pid", &processes) != 0) return "";
  return absl::StrCat(*boot, processes.st_ino);
}

absl::StatusOr<std::string> Get(const WireOptions& options, Health& health,
                                const char* what, int rank) {
  auto value = options.store->Get(absl::StrCat(options.prefix, what, rank),
                                  options.timeout);
  if (absl::IsDeadlineExceeded(value.status())) {
    return health.FailAsSilent(rank);
  }
  return value;
}

// "mark\npath", or empty for a worker that does not share memory.
std::string Card(const ShmSegment* own, const std::string& mark) {
  if (own == nullptr || mark.empty()) return "";
  return absl::StrCat(mark, "\n", own->path());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShmNeighbors>> ShmNeighbors::Find(
    const WireOptions& options, Health& health) {
  std::unique_ptr<ShmNeighbors> found(new ShmNeighbors(health.size()));
  found->rank_ = options.rank;
  std::unique_ptr<ShmSegment>& own = found->segments_[options.rank];
  if (options.shared_memory) {
    auto created = ShmSegment::Create();
    if (created.ok()) own = *std::move(created);
  }
  const std::string mark = HostMark();
  MW_RETURN_IF_ERROR(
      options.store->Set(absl::StrCat(options.prefix, "memory/", options.rank),
                         Card(own.get(), mark)));
  std::vector<int> same_host;
  std::string opened = absl::StrCat(options.rank);
  for (int rank = 0; rank < health.size(); ++rank) {
    if (rank == options.rank) continue;
    MW_ASSIGN_OR_RETURN(const std::string card,
                        Get(options, health, "memory/", rank));
    const size_t cut = card.rfind('\n');
    if (own == nullptr || card.empty() || card.substr(0, cut) != mark) continue;
    same_host.push_back(rank);
    auto segment = ShmSegment::Open(card.substr(cut + 1));
    if (!segment.ok()) continue;
    found->segments_[rank] = *std::move(segment);
    absl::StrAppend(&opened, ",", rank);
  }
  if (own == nullptr) return found;
  MW_RETURN_IF_ERROR(options.store->Set(
      absl::StrCat(options.prefix, "opened/", options.rank), opened));
  same_host.push_back(options.rank);
  for (const int rank : same_host) {
    MW_ASSIGN_OR_RETURN(const std::string ranks,
                        Get(options, health, "opened/", rank));
    for (const absl::string_view part : absl::StrSplit(ranks, ',')) {
      int other = 0;
      if (absl::SimpleAtoi(part, &other)) found->opened_.insert({rank, other});
    }
  }
  return found;
}

bool ShmNeighbors::Share(absl::Span<const int> ranks) const {
  for (const int a : ranks) {
    for (const int b : ranks) {
      if (!opened_.contains({a, b})) return false;
    }
  }
  return true;
}

absl::StatusOr<int> ShmNeighbors::TakeChannel(const Health& health) {
  ShmSegment& own = *segments_[rank_];
  while (true) {
    MW_RETURN_IF_ERROR(health.status());
    {
      const std::lock_guard lock(mutex_);
      taken_.resize(ShmSegment::kChannels);
      for (int i = 0; i < ShmSegment::kChannels; ++i) {
        if (taken_[i] || own.channel(i).readers.load() > 0) continue;
        taken_[i] = true;
        if (own.used_channels() <= i) own.set_used_channels(i + 1);
        return i;
      }
    }
    absl::SleepFor(absl::Microseconds(100));
  }
}

void ShmNeighbors::ReturnChannel(int channel) {
  const std::lock_guard lock(mutex_);
  taken_[channel] = false;
}

void ShmNeighbors::WakeAll() {
  ShmSegment* own = segments_[rank_].get();
  if (own == nullptr) return;
  own->bell().rings.fetch_add(1);
  internal::FutexWakeAll(own->bell().rings);
  for (int i = 0; i < own->used_channels(); ++i) {
    own->channel(i).bell.fetch_add(1);
    internal::FutexWakeAll(own->channel(i).bell);
  }
}

}  // namespace meshwright
