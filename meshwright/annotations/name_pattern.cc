#include "meshwright/annotations/name_pattern.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace meshwright {
namespace {

// Edit distance: characters to insert, remove or replace.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// With their indices, nearest first.
std::vector<std::pair<size_t, size_t>> Distances(
    absl::string_view wanted, absl::Span<const std::string> names) {
  std::vector<std::pair<size_t, size_t>> distances;
  for (size_t i = 0; i < names.size(); ++i) {
    distances.emplace_back(Distance(wanted, names[i]), i);
  }
  std::sort(distances.begin(), distances.end());
  return distances;
}

}  // namespace

bool IsPattern(absl::string_view key) {
  return key.find('*') != absl::string_view::npos;
}

bool Matches(absl::string_view pattern, absl::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = absl::string_view::npos;  // The last star seen,
  // and where the text that it matches ends so far.
  size_t star_end = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      n = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> NearestNames(absl::string_view wanted,
                                      absl::Span<const std::string> names,
                                      size_t count) {
  std::vector<std::string> nearest;
  for (const auto& [_, index] : Distances(wanted, names)) {
    if (nearest.size() == count) break;
    nearest.push_back(names[index]);
  }
  return nearest;
}

std::vector<std::string> ClosestNames(absl::string_view wanted,
                                      absl::Span<const std::string> names,
                                      size_t most) {
  const auto distances = Distances(wanted, names);
  std::vector<std::string> closest;
  for (const auto& [distance, index] : distances) {
    if (closest.size() == most || distance > distances[0].first) break;
    if (distance >= wanted.size()) break;
    closest.push_back(names[index]);
  }
  return closest;
}

}  // namespace meshwright
