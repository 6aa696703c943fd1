// Formats numbers for display.
//
//   FormatBytes(1536);        // "1.5 KiB"
//   FormatCount(1.3e9);       // "1.3 G"
//   FormatSeconds(0.0123);    // "12.3 ms"
//   Counted(1, "tensor");     // "1 tensor"; of 2: "2 tensors"
//   FormatSum(0.0148, {{"compute", 0.01374}, {"communication", 0.00106}});
//   // "14.8 ms = compute 13.7 ms + communication 1.1 ms"
//   FormatTimes(7, 28058);    // "7 x 27.4 KiB = 192 KiB"
#ifndef MESHWRIGHT_BASE_UNITS_H_
#define MESHWRIGHT_BASE_UNITS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright {

std::string FormatBytes(int64_t bytes);
std::string FormatCount(double count);
std::string FormatSeconds(double seconds);
std::string Counted(int64_t count, absl::string_view what);

struct NamedSeconds {
  std::string name;
  double seconds = 0;
};
// The nonzero parts, in the unit of the whole and to the same digit, so that
// the printed numbers add up if the parts do.
std::string FormatSum(double whole, absl::Span<const NamedSeconds> parts);
// A count times a size (the mean, if sizes differ), and the total.
std::string FormatTimes(double count, double total_bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_UNITS_H_
