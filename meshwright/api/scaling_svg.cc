#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "meshwright/api/scaling_text.h"

namespace meshwright {
namespace {

// In pixels: the area of the curves, and what is around it.
constexpr double kWidth = 640;
constexpr double kHeight = 320;
constexpr double kLeft = 60;
constexpr double kTop = 50;
constexpr double kRight = 190;
constexpr double kBottom = 50;

struct Series {
  const char* name;
  const char* colour;  // Of a palette that the colour-blind can tell apart.
  double (*share)(const ScalePoint& point, double best);
};
constexpr Series kSeries[] = {
    {"throughput of a device", "#0072b2",
     [](const ScalePoint& point, double best) {
       return best > 0 ? point.throughput_per_device / best : 0;
     }},
    {"MFU", "#009e73",
     [](const ScalePoint& point, double) { return point.mfu; }},
    {"goodput", "#e69f00",
     [](const ScalePoint& point, double) { return point.goodput.share; }},
    {"communication", "#d55e00",
     [](const ScalePoint& point, double) { return point.comm_share; }},
    {"bubbles", "#cc79a7",
     [](const ScalePoint& point, double) { return point.bubble_share; }},
    {"memory", "#56b4e9",
     [](const ScalePoint& point, double) { return point.memory_share; }},
};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text,
                             {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

class Drawing {
 public:
  explicit Drawing(absl::Span<const ScalePoint> points)
      : first_(std::log2(static_cast<double>(points.front().devices))),
        last_(std::log2(static_cast<double>(points.back().devices))) {}

  double X(const ScalePoint& point) const {
    const double at = std::log2(static_cast<double>(point.devices));
    return kLeft +
           (last_ > first_ ? (at - first_) / (last_ - first_) : 0.5) * kWidth;
  }
  static double Y(double share) {
    return kTop + (1 - std::clamp(share, 0.0, 1.0)) * kHeight;
  }

  void Text(double x, double y, const char* anchor, const std::string& words) {
    absl::StrAppendFormat(&svg_,
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s"
                          "</text>\n",
                          x, y, anchor, Escaped(words));
  }

  void Grid(absl::Span<const ScalePoint> points) {
    for (int percent = 0; percent <= 100; percent += 20) {
      const double y = Y(percent / 100.0);
      absl::StrAppendFormat(&svg_,
                            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                            "y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                            kLeft, y, kLeft + kWidth, y);
      Text(kLeft - 8, y + 4, "end", absl::StrCat(percent, " %"));
    }
    for (const ScalePoint& point : points) {
      Text(X(point), kTop + kHeight + 20, "middle",
           absl::StrCat(point.devices));
    }
    Text(kLeft + kWidth / 2, kTop + kHeight + 40, "middle", "devices");
  }

  void Curve(const Series& series, size_t index,
             absl::Span<const ScalePoint> points, double best) {
    std::string path;
    for (const ScalePoint& point : points) {
      if (!point.why_not.empty()) continue;
      const double x = X(point);
      const double y = Y(series.share(point, best));
      absl::StrAppendFormat(&path, "%s%.1f %.1f", path.empty() ? "M" : " L", x,
                            y);
      absl::StrAppendFormat(
          &svg_, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x,
          y, series.colour);
    }
    absl::StrAppendFormat(&svg_,
                          "<path d=\"%s\" fill=\"none\" stroke=\"%s\" "
                          "stroke-width=\"2\"/>\n",
                          path, series.colour);
    const double y = kTop + 12 + 20 * static_cast<double>(index);
    absl::StrAppendFormat(&svg_,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" "
                          "height=\"4\" fill=\"%s\"/>\n",
                          kLeft + kWidth + 16, y - 5, series.colour);
    Text(kLeft + kWidth + 34, y, "start", series.name);
  }

  const std::string& svg() const { return svg_; }

 private:
  const double first_;  // Logarithms of the numbers of devices.
  const double last_;
  std::string svg_;
};

}  // namespace

std::string ScalingSvg(absl::Span<const ScalePoint> points,
                       const ScaleText& text) {
  const double best = BestThroughput(points);
  Drawing drawing(points);
  drawing.Text(kLeft, 20, "start", text.title);
  drawing.Text(kLeft, 38, "start",
               text.weak ? "weak scaling, predicted; throughput beside the best"
                         : "strong scaling, predicted; throughput beside the "
                           "best");
  drawing.Grid(points);
  for (size_t i = 0; i < std::size(kSeries); ++i) {
    drawing.Curve(kSeries[i], i, points, best);
  }
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
      kLeft + kWidth + kRight, kTop + kHeight + kBottom, drawing.svg());
}

}  // namespace meshwright
