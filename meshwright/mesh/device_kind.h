// The capabilities of known kinds of devices: arithmetic per element type,
// memory, and the links that a kind usually comes with.
//
//   const DeviceKind* h200 = FindDeviceKind("h200");
//   MatmulFlops(h200->tflops, ElementType::kBF16);   // 989e12 per second
//   MatmulFlops(h200->tflops, ElementType::kF32);    // 495e12: TF32 by default
//   VectorFlops(h200->tflops, ElementType::kF32);    // 67e12
//
// The figures are the manufacturers' peaks for dense operands; what programs
// achieve is modelled in cost/.
#ifndef MESHWRIGHT_MESH_DEVICE_KIND_H_
#define MESHWRIGHT_MESH_DEVICE_KIND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"

namespace meshwright {

// Peak rates in 10^12 operations per second. `tf32` is what a matmul of f32
// gets by default: TF32 on NVIDIA GPUs, one bf16 pass on TPUs, f32 elsewhere.
struct Tflops {
  double f64 = 0;
  double f32 = 0;
  double tf32 = 0;
  double bf16 = 0;
  double f16 = 0;
  double f8 = 0;
  double s8 = 0;

  bool operator==(const Tflops&) const = default;
};

// The fields of Tflops by the names that files use.
struct TflopsField {
  const char* name;
  double Tflops::*member;
};
absl::Span<const TflopsField> TflopsFields();

// A link as is usual for a kind.
struct UsualLink {
  double gbps = 0;         // 10^9 bits per second, one direction.
  double us = 0;           // Per message.
  bool per_device = true;  // If false, one for all devices of a host.
};

struct DeviceKind {
  std::string name;
  Tflops tflops;
  double memory_gib = 0;
  double memory_gbps = 0;  // 10^9 bytes per second.
  UsualLink host;          // Between devices of a host.
  UsualLink cluster;       // Between hosts.
};

// Null when unknown. "cpu" is one core.
const DeviceKind* FindDeviceKind(absl::string_view name);
// In the order of the table.
std::vector<std::string> KnownDeviceKinds();

// Operations per second of contractions, and of everything else, on elements of
// this type. Types without hardware support have the rate of the next wider
// one; complex types that of their parts.
double MatmulFlops(const Tflops& tflops, ElementType type);
double VectorFlops(const Tflops& tflops, ElementType type);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_DEVICE_KIND_H_
