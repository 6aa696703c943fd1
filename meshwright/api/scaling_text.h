// Predicted scaling as people and programs read it.
#ifndef MESHWRIGHT_API_SCALING_TEXT_H_
#define MESHWRIGHT_API_SCALING_TEXT_H_

#include <string>

#include "absl/types/span.h"
#include "meshwright/api/scaling.h"

namespace meshwright {

struct ScaleText {
  std::string title;  // "gpt_175b on 2048 hosts x 8 h200"
  bool weak = false;  // Of steps with several batches.
  FailureSetting failures;
};

// A line per size, with a bar of what its devices achieve beside the best.
std::string ScalingTable(absl::Span<const ScalePoint> points,
                         const ScaleText& text);

// {"scaling": "strong", "unit": "tokens", "points": [...], "failures": {...}}
std::string ScalingJson(absl::Span<const ScalePoint> points,
                        const ScaleText& text);

// A drawing: throughput of a device beside the best, MFU, communication,
// bubbles and goodput over the number of devices.
std::string ScalingSvg(absl::Span<const ScalePoint> points,
                       const ScaleText& text);

// The best throughput of a device.
double BestThroughput(absl::Span<const ScalePoint> points);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SCALING_TEXT_H_
