#include "meshwright/base/units.h"

#include <array>
#include <cmath>

#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

// Three significant digits: 1.50, 15.0, 150.
std::string Significant(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%s %s", Significant(value), kUnits[unit]);
}

std::string FormatCount(double count) {
  constexpr std::array kUnits = {"", " k", " M", " G", " T", " P", " E"};
  if (count < 1000 && count == std::floor(count)) {
    return absl::StrFormat("%.0f", count);
  }
  size_t unit = 0;
  while (count >= 1000 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return absl::StrFormat("%s%s", Significant(count), kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (seconds >= 1) return Significant(seconds) + " s";
  if (seconds >= 1e-3) return Significant(seconds * 1e3) + " ms";
  return Significant(seconds * 1e6) + " us";
}

}  // namespace meshwright
