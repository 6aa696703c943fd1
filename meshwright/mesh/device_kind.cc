#include "meshwright/mesh/device_kind.h"

namespace meshwright {
namespace {

// From the manufacturers' data sheets, for dense arithmetic. If a type has no
// unit of its own, the table repeats the rate of the type in which it is
// computed: f32 for bf16 on v100, f16 for f8 on GPUs before h100. f32 on a TPU
// takes six bf16 passes, f64 is emulated. The links: NVLink (or ICI) of one
// device in one direction; one InfiniBand port per GPU from a100 on, four of
// 100 Gbit/s for the eight GPUs of a v100 host.
const std::vector<DeviceKind>& Table() {
  static const auto* const table = new std::vector<DeviceKind>{
      // name, {f64, f32, tf32, bf16, f16, f8, s8}, GiB, GB/s, links
      {"v100",
       {7.8, 15.7, 15.7, 15.7, 125, 125, 62.8},
       16,
       900,
       {1200, 4},
       {400, 10, false}},
      {"v100-32",
       {7.8, 15.7, 15.7, 15.7, 125, 125, 62.8},
       32,
       900,
       {1200, 4},
       {400, 10, false}},
      {"a100",
       {9.7, 19.5, 156, 312, 312, 312, 624},
       80,
       2039,
       {2400, 4},
       {200, 8}},
      {"a100-40",
       {9.7, 19.5, 156, 312, 312, 312, 624},
       40,
       1555,
       {2400, 4},
       {200, 8}},
      {"a100-80",
       {9.7, 19.5, 156, 312, 312, 312, 624},
       80,
       2039,
       {2400, 4},
       {200, 8}},
      {"h100",
       {34, 67, 495, 989, 989, 1979, 1979},
       80,
       3350,
       {3600, 3},
       {400, 8}},
      {"h200",
       {34, 67, 495, 989, 989, 1979, 1979},
       141,
       4800,
       {3600, 3},
       {400, 8}},
      {"b200",
       {37, 75, 1125, 2250, 2250, 4500, 4500},
       180,
       7700,
       {7200, 3},
       {400, 8}},
      {"tpu-v5p",
       {1, 76.5, 459, 459, 459, 459, 918},
       95,
       2765,
       {4800, 2},
       {4800, 3}},
      {"cpu",
       {0.04, 0.08, 0.08, 0.04, 0.04, 0.04, 0.08},
       4,
       20,
       {80, 20},
       {10, 50, false}},
  };
  return *table;
}

constexpr double kTera = 1e12;

}  // namespace

absl::Span<const TflopsField> TflopsFields() {
  static constexpr TflopsField kFields[] = {
      {"f64", &Tflops::f64},   {"f32", &Tflops::f32}, {"tf32", &Tflops::tf32},
      {"bf16", &Tflops::bf16}, {"f16", &Tflops::f16}, {"f8", &Tflops::f8},
      {"s8", &Tflops::s8}};
  return kFields;
}

const DeviceKind* FindDeviceKind(absl::string_view name) {
  for (const DeviceKind& kind : Table()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::vector<std::string> KnownDeviceKinds() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : Table()) names.push_back(kind.name);
  return names;
}

double MatmulFlops(const Tflops& tflops, ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return kTera * tflops.f64;
    case ElementType::kBF16:
      return kTera * tflops.bf16;
    case ElementType::kF16:
      return kTera * tflops.f16;
    case ElementType::kF32:
    case ElementType::kC64:
      return kTera * tflops.tf32;
    default:
      break;
  }
  // Integers wider than a byte have no matrix units.
  const bool narrow = BitWidth(type) <= 8;
  if (IsFloating(type) && narrow) return kTera * tflops.f8;
  if (IsInteger(type) && narrow) return kTera * tflops.s8;
  return kTera * tflops.f32;
}

double VectorFlops(const Tflops& tflops, ElementType type) {
  const bool wide = type == ElementType::kF64 || type == ElementType::kC128 ||
                    (IsInteger(type) && BitWidth(type) == 64);
  return kTera * (wide ? tflops.f64 : tflops.f32);
}

}  // namespace meshwright
