#include "meshwright/base/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

// For three significant digits: 1.50, 15.0, 150.
int Decimals(double value) { return value < 9.995 ? 2 : value < 99.95 ? 1 : 0; }

std::string Significant(double value) {
  return absl::StrFormat("%.*f", Decimals(value), value);
}

struct TimeUnit {
  double per_second = 1;
  const char* name = "s";
};

TimeUnit UnitOf(double seconds) {
  if (seconds >= 1) return {1, "s"};
  if (seconds >= 1e-3) return {1e3, "ms"};
  return {1e6, "us"};
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
  const TimeUnit unit = UnitOf(seconds);
  return absl::StrCat(Significant(seconds * unit.per_second), " ", unit.name);
}

std::string Counted(int64_t count, absl::string_view what) {
  const absl::string_view more = count == 1                   ? ""
                                 : absl::EndsWith(what, "ch") ? "es"
                                                              : "s";
  return absl::StrCat(count, " ", what, more);
}

std::string FormatSum(double whole, absl::Span<const NamedSeconds> parts) {
  const TimeUnit unit = UnitOf(whole);
  const int decimals = Decimals(whole * unit.per_second);
  const double scale = unit.per_second * std::pow(10, decimals);
  const auto digits = [&](double seconds) {
    return std::llround(seconds * scale);
  };
  std::vector<int64_t> shown;
  for (const NamedSeconds& part : parts) shown.push_back(digits(part.seconds));
  // The rounding error goes to the largest part; a sum that was wrong before
  // stays so.
  const int64_t left = digits(whole) - std::reduce(shown.begin(), shown.end());
  if (std::abs(left) <= std::ssize(parts) && !parts.empty()) {
    *std::max_element(shown.begin(), shown.end()) += left;
  }
  std::string text = FormatSeconds(whole);
  const char* sign = " = ";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].seconds == 0) continue;
    absl::StrAppendFormat(
        &text, "%s%s %.*f %s", std::exchange(sign, " + "), parts[i].name,
        decimals, static_cast<double>(shown[i]) / std::pow(10, decimals),
        unit.name);
  }
  return text;
}

std::string FormatTimes(double count, double total_bytes) {
  const std::string total = FormatBytes(static_cast<int64_t>(total_bytes));
  if (count <= 1) return total;
  return absl::StrFormat("%g x %s = %s", count,
                         FormatBytes(static_cast<int64_t>(total_bytes / count)),
                         total);
}

}  // namespace meshwright
