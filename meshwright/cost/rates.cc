#include "meshwright/cost/rates.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/check.h"
#include "meshwright/base/units.h"

namespace meshwright {
namespace {

// The type whose unit computes contractions of `type` (cf. MatmulFlops).
ElementType ComputedIn(ElementType type) {
  switch (type) {
    case ElementType::kC128:
      return ElementType::kF64;
    case ElementType::kF64:
    case ElementType::kF32:
    case ElementType::kBF16:
    case ElementType::kF16:
      return type;
    default:
      break;
  }
  const bool narrow = BitWidth(type) <= 8;
  if (IsFloating(type) && narrow) return ElementType::kF8E4M3;
  if (IsInteger(type) && narrow) return ElementType::kS8;
  return ElementType::kF32;
}

double Mix(double a, double b, double share) { return a + (b - a) * share; }

}  // namespace

absl::string_view Name(Origin origin) {
  switch (origin) {
    case Origin::kAssumed:
      return "assumed";
    case Origin::kCalibrated:
      return "calibrated";
    case Origin::kProfiled:
      return "profiled";
  }
  MW_CHECK(false) << "unknown origin";
}

double Curve::At(double size) const {
  if (points.empty()) return 0;
  const auto above =
      std::find_if(points.begin(), points.end(),
                   [size](const Point& point) { return point.size >= size; });
  if (above == points.begin()) return points.front().value;
  if (above == points.end()) return points.back().value;
  const Point& low = *(above - 1);
  const double share =
      std::log(size / low.size) / std::log(above->size / low.size);
  return low.value * std::pow(above->value / low.value, share);
}

const Curve& Rates::Matmul(ElementType type) const {
  for (const ElementType candidate :
       {type, ComputedIn(type), ElementType::kF32}) {
    const auto found = matmul.find(candidate);
    if (found != matmul.end()) return found->second;
  }
  static const Curve* const none = new Curve;
  return matmul.empty() ? *none : matmul.begin()->second;
}

CollectiveRate Rates::Of(MoveKind kind, int32_t level, int64_t devices) const {
  MW_CHECK(level >= 0 && level < std::ssize(levels));
  const std::vector<CollectiveRate>& known =
      levels[level].kinds[KindIndex(kind)];
  if (known.empty()) return {devices};
  if (known.size() == 1) {
    return {devices, known[0].latency, known[0].per_byte};
  }
  size_t high = 1;
  while (high + 1 < known.size() && known[high].devices < devices) ++high;
  const CollectiveRate& a = known[high - 1];
  const CollectiveRate& b = known[high];
  const auto log = [](int64_t n) { return std::log2(static_cast<double>(n)); };
  const double share =
      (log(devices) - log(a.devices)) / (log(b.devices) - log(a.devices));
  return {devices,
          std::max(Mix(a.latency, b.latency, share),
                   0.5 * std::min(a.latency, b.latency)),
          Mix(a.per_byte, b.per_byte, std::clamp(share, 0.0, 1.0))};
}

std::string Rates::ToString() const {
  std::string text = absl::StrCat(device, "\n");
  for (const auto& [type, curve] : matmul) {
    absl::StrAppendFormat(&text, "  matmul %-8s %sFLOP/s (%s)\n", Name(type),
                          FormatCount(curve.Last()), Name(curve.origin));
  }
  absl::StrAppendFormat(&text, "  memory          %sB/s (%s)\n",
                        FormatCount(memory.Last()), Name(memory.origin));
  absl::StrAppendFormat(&text, "  vector          %sFLOP/s (%s)\n",
                        FormatCount(vector_flops.value),
                        Name(vector_flops.origin));
  absl::StrAppendFormat(&text, "  exp, tanh, ...  %s/s (%s)\n",
                        FormatCount(transcendentals.value),
                        Name(transcendentals.origin));
  absl::StrAppendFormat(&text, "  each kernel     %s (%s)\n",
                        FormatSeconds(op_seconds.value),
                        Name(op_seconds.origin));
  for (size_t level = 0; level < levels.size(); ++level) {
    for (const MoveKind kind :
         {MoveKind::kAllReduce, MoveKind::kAllGather, MoveKind::kReduceScatter,
          MoveKind::kAllToAll, MoveKind::kPermute}) {
      const auto& known = levels[level].kinds[KindIndex(kind)];
      for (const CollectiveRate& rate : known) {
        if (rate.devices > 64) continue;
        absl::StrAppendFormat(
            &text, "  level %d %-18s of %d: %s, %sB/s (%s)\n", level,
            Name(kind), rate.devices, FormatSeconds(rate.latency),
            FormatCount(1 / rate.per_byte), Name(levels[level].origin));
      }
    }
  }
  return text;
}

}  // namespace meshwright
