// Predicted scaling as text, JSON and SVG.
#ifndef MESHWRIGHT_API_SCALING_TEXT_H_
#define MESHWRIGHT_API_SCALING_TEXT_H_

#include <string>

#include "absl/types/span.h"
#include "meshwright/api/scaling.h"

namespace meshwright {

struct ScaleText {
  std::string title;  // "gpt_175b on 2048 hosts x 8 h200"
  bool weak = false;  // Weak scaling, with several batch sizes.
  FailureSetting failures;
};

// A line per size, with a bar for its throughput per device relative to the
// best.
std::string ScalingTable(absl::Span<const ScalePoint> points,
                         const ScaleText& text);

// {"scaling": "strong", "unit": "tokens", "points": [...], "failures": {...}}
std::string ScalingJson(absl::Span<const ScalePoint> points,
                        const ScaleText& text);

// A chart of throughput per device relative to the best, MFU, communication,
// bubbles and goodput over the number of devices.
std::string ScalingSvg(absl::Span<const ScalePoint> points,
                       const ScaleText& text);

// The best throughput per device.
double BestThroughput(absl::Span<const ScalePoint> points);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SCALING_TEXT_H_
