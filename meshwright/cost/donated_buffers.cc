#include "meshwright/cost/donated_buffers.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace meshwright {
namespace {

// Lifetimes of the values in one buffer: the first kernel to the last.
using Occupied = std::map<int32_t, int32_t>;

bool IsFree(const Occupied& occupied, const PlacedValue& value) {
  const auto next = occupied.upper_bound(value.until);
  return next == occupied.begin() || std::prev(next)->second < value.from;
}

}  // namespace

std::vector<bool> FillDonated(std::vector<DonatedBuffer> places,
                              absl::Span<const PlacedValue> values) {
  std::stable_sort(places.begin(), places.end(),
                   [](const DonatedBuffer& a, const DonatedBuffer& b) {
                     return a.bytes < b.bytes;
                   });
  std::vector<size_t> largest_first(values.size());
  std::iota(largest_first.begin(), largest_first.end(), 0);
  std::stable_sort(
      largest_first.begin(), largest_first.end(),
      [&](size_t a, size_t b) { return values[a].bytes > values[b].bytes; });
  std::vector<bool> placed(values.size(), false);
  std::vector<Occupied> occupied(places.size());
  for (const size_t i : largest_first) {
    const PlacedValue& value = values[i];
    const auto fits = std::lower_bound(
        places.begin(), places.end(), value.bytes,
        [](const DonatedBuffer& place, int64_t b) { return place.bytes < b; });
    for (size_t p = fits - places.begin(); p < places.size(); ++p) {
      if (value.from <= places[p].after || value.until >= places[p].before ||
          !IsFree(occupied[p], value)) {
        continue;
      }
      occupied[p][value.from] = value.until;
      placed[i] = true;
      break;
    }
  }
  return placed;
}

}  // namespace meshwright
