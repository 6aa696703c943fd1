#include "meshwright/api/traffic_text.h"

#include "absl/strings/str_format.h"
#include "meshwright/base/units.h"

namespace meshwright {

void Traffic::Add(const std::string& kind, const std::string& axes,
                  double count, double wire_bytes) {
  // Moves that follow no axis.
  const bool is_open = axes.empty() || axes == "-";
  Sum& sum = sums_[{kind, is_open ? "pairs of devices" : axes}];
  sum.count += count;
  sum.bytes += count * wire_bytes;
}

std::string Traffic::ToString() const {
  std::string text;
  for (const auto& [key, sum] : sums_) {
    absl::StrAppendFormat(&text, "  %-18s over %-16s %s\n", key.first,
                          key.second, FormatTimes(sum.count, sum.bytes));
  }
  return text;
}

}  // namespace meshwright
