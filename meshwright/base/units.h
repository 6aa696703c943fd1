// Numbers as people read them.
//
//   FormatBytes(1536);        // "1.5 KiB"
//   FormatCount(1.3e9);       // "1.3 G"
//   FormatSeconds(0.0123);    // "12.3 ms"
#ifndef MESHWRIGHT_BASE_UNITS_H_
#define MESHWRIGHT_BASE_UNITS_H_

#include <cstdint>
#include <string>

namespace meshwright {

std::string FormatBytes(int64_t bytes);
std::string FormatCount(double count);
std::string FormatSeconds(double seconds);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_UNITS_H_
