#include "meshwright/cli/print_traffic.h"

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

void Traffic::Print() const {
  for (const auto& [key, sum] : sums_) {
    absl::PrintF("  %-18s over %-16s %s\n", key.first, key.second,
                 FormatTimes(sum.count, sum.bytes));
  }
}

}  // namespace meshwright
