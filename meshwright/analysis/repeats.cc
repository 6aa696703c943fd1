#include "meshwright/analysis/repeats.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

// Hashes of all stretches, by differences of prefix hashes modulo 2^61 - 1.
class StretchHash {
 public:
  explicit StretchHash(absl::Span<const uint64_t> values) {
    prefix_.push_back(0);
    power_.push_back(1);
    for (uint64_t value : values) {
      prefix_.push_back(
          Reduce(Product(prefix_.back(), kBase) + Reduce(value) + 1));
      power_.push_back(Product(power_.back(), kBase));
    }
  }

  int64_t size() const { return std::ssize(prefix_) - 1; }

  uint64_t Of(int64_t begin, int64_t length) const {
    return Reduce(prefix_[begin + length] + kPrime -
                  Product(prefix_[begin], power_[length]));
  }

  // The length for which the sequence from `a` on equals that from `b` on, a <
  // b.
  int64_t Agreement(int64_t a, int64_t b) const {
    int64_t low = 0;
    int64_t high = size() - b;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (Of(a, middle) == Of(b, middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

 private:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  static constexpr uint64_t kBase = 0x1b873593cc9e2d51 % kPrime;

  static uint64_t Reduce(uint64_t value) {
    value = (value & kPrime) + (value >> 61);
    return value >= kPrime ? value - kPrime : value;
  }
  static uint64_t Product(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return Reduce(static_cast<uint64_t>(product & kPrime) +
                  static_cast<uint64_t>(product >> 61));
  }

  std::vector<uint64_t> prefix_;
  std::vector<uint64_t> power_;
};

// The repeats that start at each position, with the distance to the next
// occurrence of the window of 1, 2, 4, ... values there as their period. Inside
// a repeat, a window of at least one period recurs after exactly one period.
std::vector<Repeat> Candidates(const StretchHash& hash) {
  std::vector<Repeat> candidates;
  const int64_t n = hash.size();
  for (int64_t window = 1; window < n; window *= 2) {
    absl::flat_hash_map<uint64_t, int64_t> next;
    for (int64_t begin = n - window; begin >= 0; --begin) {
      const auto [it, first] = next.try_emplace(hash.Of(begin, window), begin);
      if (first) continue;
      const int64_t period = it->second - begin;
      it->second = begin;
      const int64_t agreement = hash.Agreement(begin, begin + period);
      if (agreement < period) continue;
      candidates.push_back({begin, period, agreement / period + 1});
    }
  }
  return candidates;
}

}  // namespace

std::vector<Repeat> FindRepeats(absl::Span<const uint64_t> values) {
  std::vector<Repeat> candidates = Candidates(StretchHash(values));
  std::sort(candidates.begin(), candidates.end(),
            [](const Repeat& a, const Repeat& b) {
              return std::tuple(-a.period * a.count, a.period, a.begin) <
                     std::tuple(-b.period * b.count, b.period, b.begin);
            });
  std::map<int64_t, Repeat> chosen;  // By begin.
  for (const Repeat& candidate : candidates) {
    const auto after = chosen.lower_bound(candidate.begin);
    if (after != chosen.end() && after->second.begin < candidate.end()) {
      continue;
    }
    if (after != chosen.begin() &&
        std::prev(after)->second.end() > candidate.begin) {
      continue;
    }
    chosen.emplace(candidate.begin, candidate);
  }
  std::vector<Repeat> result;
  for (const auto& [begin, repeat] : chosen) result.push_back(repeat);
  return result;
}

}  // namespace meshwright
