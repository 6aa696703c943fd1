#include "tests/rules/norm_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace meshwright {
namespace {

struct Rows {
  int64_t count = 1;
  int64_t size = 1;
};

Rows RowsOf(const FfiArray& x) {
  Rows rows{.size = x.dimensions.back()};
  for (const int64_t size : x.dimensions) rows.count *= size;
  rows.count /= std::max<int64_t>(rows.size, 1);
  return rows;
}

// The last step of murmur3.
uint32_t Mixed(uint32_t word) {
  word = (word ^ (word >> 16)) * 0x85ebca6bu;
  word = (word ^ (word >> 13)) * 0xc2b2ae35u;
  return word ^ (word >> 16);
}

absl::Status Other() {
  return absl::InvalidArgumentError("the shapes do not fit together");
}

}  // namespace

absl::Status RunNorm(const FfiCall& call) {
  const Rows rows = RowsOf(call.operands()[0]);
  if (call.operands()[1].element_count() != rows.size ||
      call.results()[1].element_count() != rows.count) {
    return Other();
  }
  const auto* scale = call.operands()[1].As<const float>();
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto* x = call.operands()[0].As<const float>() + i * rows.size;
    auto* y = call.results()[0].As<float>() + i * rows.size;
    float squares = 0;
    for (int64_t j = 0; j < rows.size; ++j) squares += x[j] * x[j];
    const float inverse =
        1 / std::sqrt(squares / static_cast<float>(rows.size) + 1e-6f);
    for (int64_t j = 0; j < rows.size; ++j) y[j] = x[j] * inverse * scale[j];
    call.results()[1].As<float>()[i] = inverse;
  }
  return absl::OkStatus();
}

absl::Status RunNormGradient(const FfiCall& call) {
  const Rows rows = RowsOf(call.operands()[0]);
  auto* dscale = call.results()[1].As<float>();
  if (call.operands()[2].element_count() != rows.count ||
      call.results()[1].element_count() != rows.size) {
    return Other();
  }
  const auto* scale = call.operands()[1].As<const float>();
  std::fill_n(dscale, rows.size, 0.0f);
  for (int64_t i = 0; i < rows.count; ++i) {
    const auto* x = call.operands()[0].As<const float>() + i * rows.size;
    const auto* dy = call.operands()[3].As<const float>() + i * rows.size;
    auto* dx = call.results()[0].As<float>() + i * rows.size;
    const float inverse = call.operands()[2].As<const float>()[i];
    float along = 0;
    for (int64_t j = 0; j < rows.size; ++j) along += dy[j] * scale[j] * x[j];
    along *= inverse * inverse / static_cast<float>(rows.size);
    for (int64_t j = 0; j < rows.size; ++j) {
      dx[j] = inverse * (dy[j] * scale[j] - x[j] * along);
      dscale[j] += dy[j] * x[j] * inverse;
    }
  }
  return absl::OkStatus();
}

absl::Status RunDropout(const FfiCall& call) {
  const FfiArray& x = call.operands()[0];
  if (call.operands()[1].element_count() != 2 ||
      call.operands()[2].element_count() != x.element_count()) {
    return Other();
  }
  const auto* seed = call.operands()[1].As<const uint32_t>();
  const auto* positions = call.operands()[2].As<const uint32_t>();
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const uint32_t word = Mixed(Mixed(seed[0] ^ positions[i]) + seed[1]);
    call.results()[0].As<float>()[i] =
        word % 2 == 0 ? 0 : 2 * x.As<const float>()[i];
  }
  return absl::OkStatus();
}

absl::Status RunSortRows(const FfiCall& call) {
  const FfiArray& x = call.operands()[0];
  const Rows rows = RowsOf(x);
  const FfiArray& workspace = call.results()[1];
  if (workspace.element_count() < x.element_count()) return Other();
  auto* room = workspace.As<float>();
  std::copy_n(x.As<const float>(), x.element_count(), room);
  for (int64_t i = 0; i < rows.count; ++i) {
    std::sort(room + i * rows.size, room + (i + 1) * rows.size);
  }
  std::copy_n(room, x.element_count(), call.results()[0].As<float>());
  // What is left there depends on how much was done.
  std::fill_n(room, workspace.element_count(),
              static_cast<float>(x.element_count()));
  return absl::OkStatus();
}

}  // namespace meshwright
