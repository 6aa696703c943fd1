#include "meshwright/wire/shm_messages.h"

#include <atomic>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

using Holders = std::atomic<uint32_t>;

// Before the bytes, which are so aligned that devices use them in place.
constexpr uint64_t kHead = 64;
// Small enough to waste little, large enough to be found again.
constexpr uint64_t kGrain = 4096;

Holders& HoldersOf(ShmSegment& segment, uint64_t place) {
  return *reinterpret_cast<Holders*>(segment.messages() + place);
}

}  // namespace

void ShmMessages::Collect() {
  for (auto one = taken_.begin(); one != taken_.end();) {
    if (HoldersOf(own(), one->first).load() != 0) {
      ++one;
      continue;
    }
    uint64_t place = one->first;
    uint64_t size = one->second;
    one = taken_.erase(one);
    auto after = free_.upper_bound(place);
    if (after != free_.end() && place + size == after->first) {
      size += after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == place) {
        place = before->first;
        size += before->second;
        free_.erase(before);
      }
    }
    if (place + size == used_) {
      used_ = place;
    } else {
      free_[place] = size;
    }
  }
}

std::optional<MessageMemory> ShmMessages::Allocate(size_t bytes) {
  if (bytes > own().message_bytes()) return std::nullopt;
  const uint64_t size = (bytes + kHead + kGrain - 1) / kGrain * kGrain;
  uint64_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    Collect();
    auto found = free_.end();  // The smallest that is large enough.
    for (auto one = free_.begin(); one != free_.end(); ++one) {
      if (one->second >= size &&
          (found == free_.end() || one->second < found->second)) {
        found = one;
      }
    }
    if (found != free_.end()) {
      place = found->first;
      const uint64_t rest = found->second - size;
      free_.erase(found);
      if (rest > 0) free_[place + size] = rest;
    } else if (size <= own().message_bytes() - used_) {
      place = used_;
      used_ += size;
    } else {
      return std::nullopt;
    }
    taken_[place] = size;
    HoldersOf(own(), place).store(1);
  }
  std::byte* const data = own().messages() + place + kHead;
  return MessageMemory{
      .bytes = {data, bytes},
      .owner = std::shared_ptr<void>(
          data, [neighbors = neighbors_, rank = rank_, place](void*) {
            HoldersOf(neighbors->segment(rank), place).fetch_sub(1);
          })};
}

std::optional<uint64_t> ShmMessages::Lend(const std::byte* message) {
  const std::lock_guard lock(mutex_);
  const std::byte* const begin = own().messages() + kHead;
  if (message < begin || message >= begin + used_) return std::nullopt;
  const auto place = static_cast<uint64_t>(message - begin);
  if (!taken_.contains(place)) return std::nullopt;
  HoldersOf(own(), place).fetch_add(1);
  return place;
}

void ShmMessages::TakeBack(uint64_t place) {
  HoldersOf(own(), place).fetch_sub(1);
}

absl::StatusOr<OwnedBytes> ShmMessages::Open(int from, uint64_t place,
                                             size_t bytes) {
  ShmSegment& segment = neighbors_->segment(from);
  const uint64_t most = segment.message_bytes();
  if (place % kGrain != 0 || place > most || kHead > most - place ||
      bytes > most - place - kHead) {
    return absl::DataLossError(absl::StrCat("a message of ", bytes,
                                            " bytes at ", place, " of ", most));
  }
  std::byte* const data = segment.messages() + place + kHead;
  return OwnedBytes{
      .bytes = {data, bytes},
      .owner = std::shared_ptr<const void>(
          data, [neighbors = neighbors_, from, place](const void*) {
            HoldersOf(neighbors->segment(from), place).fetch_sub(1);
          })};
}

}  // namespace meshwright
