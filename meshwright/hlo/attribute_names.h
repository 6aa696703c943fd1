// The names that HLO text uses for the schema's enums, by number.
//
//   kFftTypes[2];                              // "RFFT"
//   DefaultComparison(ElementType::kS32);      // "SIGNED"
#ifndef MESHWRIGHT_HLO_ATTRIBUTE_NAMES_H_
#define MESHWRIGHT_HLO_ATTRIBUTE_NAMES_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "meshwright/base/element_type.h"

namespace meshwright::internal {

inline constexpr std::array<absl::string_view, 4> kFftTypes = {"FFT", "IFFT",
                                                               "RFFT", "IRFFT"};
inline constexpr std::array<absl::string_view, 3> kDistributions = {
    "rng_invalid", "rng_uniform", "rng_normal"};
inline constexpr std::array<absl::string_view, 3> kRngAlgorithms = {
    "rng_default", "rng_three_fry", "rng_philox"};
inline constexpr std::array<absl::string_view, 3> kSchedules = {
    "SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
inline constexpr std::array<absl::string_view, 5> kApiVersions = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL",
    "API_VERSION_STATUS_RETURNING", "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI"};
inline constexpr int32_t kApiVersionOriginal = 1;

inline constexpr std::array<absl::string_view, 4> kPrecisions = {
    "default", "high", "highest", "packed_nibble"};

inline constexpr std::array<absl::string_view, 14> kAlgorithms = {
    "unset",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
};

inline constexpr std::array<absl::string_view, 4> kTransposes = {
    "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

// How values of the type are compared by default.
inline absl::string_view DefaultComparison(ElementType type) {
  if (IsSignedInteger(type)) return "SIGNED";
  if (IsUnsignedInteger(type) || type == ElementType::kPred) return "UNSIGNED";
  return "FLOAT";
}

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_ATTRIBUTE_NAMES_H_
