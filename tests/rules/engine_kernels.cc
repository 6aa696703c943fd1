#include "tests/rules/engine_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

int64_t Product(absl::Span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

// A row-major matrix: the dimensions before and after `boundary`.
struct EngineMatrix {
  const float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  float At(int64_t row, int64_t column) const {
    return data[row * columns + column];
  }
};

EngineMatrix MatrixOf(const FfiArray& array, int64_t boundary) {
  return {.data = array.As<const float>(),
          .rows = Product(array.dimensions.first(boundary)),
          .columns = Product(array.dimensions.subspan(boundary))};
}

EngineMatrix RowsOfArray(const FfiArray& array) {
  return MatrixOf(array, std::ssize(array.dimensions) - 1);
}

float LargestOf(const FfiArray& array, float largest) {
  for (int64_t i = 0; i < array.element_count(); ++i) {
    largest = std::max(largest, std::abs(array.As<const float>()[i]));
  }
  return largest;
}

}  // namespace

absl::Status RunEngineNorm(const FfiCall& call) {
  const EngineMatrix x = RowsOfArray(call.operands()[0]);
  const float scale = call.operands()[1].As<const float>()[0];
  const auto* gamma = call.operands()[3].As<const float>();
  const auto* beta = call.operands()[4].As<const float>();
  auto* y = call.results()[0].As<float>();
  const auto size = static_cast<float>(x.columns);
  for (int64_t i = 0; i < x.rows; ++i) {
    float sum = 0;
    float squares = 0;
    for (int64_t j = 0; j < x.columns; ++j) sum += x.At(i, j);
    const float mean = sum / size;
    for (int64_t j = 0; j < x.columns; ++j) {
      squares += (x.At(i, j) - mean) * (x.At(i, j) - mean);
    }
    const float inverse = 1 / std::sqrt(squares / size + 1e-3f);
    for (int64_t j = 0; j < x.columns; ++j) {
      y[i * x.columns + j] =
          scale * ((x.At(i, j) - mean) * inverse * gamma[j] + beta[j]);
    }
    call.results()[5].As<float>()[i] = mean;
    call.results()[6].As<float>()[i] = inverse;
  }
  call.results()[2].As<float>()[0] = 1 / scale;
  call.results()[4].As<float>()[0] =
      LargestOf(call.results()[0], call.operands()[2].As<const float>()[0]);
  return absl::OkStatus();
}

absl::Status RunEngineNormGradient(const FfiCall& call) {
  const EngineMatrix dy = RowsOfArray(call.operands()[0]);
  const EngineMatrix x = RowsOfArray(call.operands()[1]);
  const auto* gamma = call.operands()[4].As<const float>();
  auto* dgamma = call.results()[1].As<float>();
  auto* dbeta = call.results()[2].As<float>();
  std::fill_n(dgamma, x.columns, 0.0f);
  std::fill_n(dbeta, x.columns, 0.0f);
  for (int64_t i = 0; i < x.rows; ++i) {
    const float mean = call.operands()[2].As<const float>()[i];
    const float inverse = call.operands()[3].As<const float>()[i];
    float sum = 0;
    float along = 0;
    for (int64_t j = 0; j < x.columns; ++j) {
      const float normal = (x.At(i, j) - mean) * inverse;
      sum += dy.At(i, j) * gamma[j];
      along += dy.At(i, j) * gamma[j] * normal;
      dgamma[j] += dy.At(i, j) * normal;
      dbeta[j] += dy.At(i, j);
    }
    const auto size = static_cast<float>(x.columns);
    for (int64_t j = 0; j < x.columns; ++j) {
      const float normal = (x.At(i, j) - mean) * inverse;
      call.results()[0].As<float>()[i * x.columns + j] =
          inverse *
          (dy.At(i, j) * gamma[j] - sum / size - normal * along / size);
    }
  }
  return absl::OkStatus();
}

absl::Status RunEngineActivation(const FfiCall& call) {
  const absl::Span<const int64_t> sizes = call.operands()[0].dimensions;
  const int64_t n = sizes.back();
  const int64_t inputs = sizes[sizes.size() - 2];
  const int64_t rows = Product(sizes.first(sizes.size() - 2));
  const auto* x = call.operands()[0].As<const float>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float y = 1;
      for (int64_t l = 0; l < inputs; ++l) y *= x[(i * inputs + l) * n + j];
      call.results()[0].As<float>()[i * n + j] = y;
      call.results()[1].As<float>()[j * rows + i] = y;
    }
  }
  call.results()[4].As<float>()[0] =
      LargestOf(call.results()[0], call.operands()[2].As<const float>()[0]);
  return absl::OkStatus();
}

absl::Status RunEngineActivationGradient(const FfiCall& call) {
  const EngineMatrix dy = RowsOfArray(call.operands()[0]);
  const FfiArray& x = call.operands()[1];
  const FfiArray& dx = call.results()[0];
  const FfiArray& dbias = call.results()[5];
  const int64_t inputs = x.dimensions[x.dimensions.size() - 2];
  const int64_t width = inputs * dy.columns;
  const bool has_bias = dbias.element_count() == width;
  if (has_bias) std::fill_n(dbias.As<float>(), width, 0.0f);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const float value =
        x.As<const float>()[i] * dy.At(i / width, i % dy.columns);
    dx.As<float>()[i] = value;
    if (has_bias) dbias.As<float>()[i % width] += value;
  }
  call.results()[4].As<float>()[0] =
      LargestOf(dx, call.operands()[3].As<const float>()[0]);
  return absl::OkStatus();
}

namespace {

// The scale of each element of a side with blocks of them, by row (what is not
// contracted) and place; 1 if there are none.
struct EngineScales {
  const float* data = nullptr;
  int64_t blocks = 0;  // Of a row.
  int64_t block = 1;

  float At(int64_t row, int64_t place) const {
    if (data == nullptr) return 1;
    const int64_t number = place / block;
    return data[(row / 128 * (blocks / 4) + number / 4) * 512 + row % 32 * 16 +
                row % 128 / 32 * 4 + number % 4];
  }
};

EngineScales ScalesOf(const FfiArray& array, int64_t rows, int64_t places) {
  if (array.element_count() <= 1) return {};
  const int64_t blocks = array.element_count() / rows;
  return {.data = array.As<const float>(),
          .blocks = blocks,
          .block = places / blocks};
}

}  // namespace

absl::Status RunEngineGemm(const FfiCall& call) {
  MW_ASSIGN_OR_RETURN(const int64_t lhs_boundary,
                      call.IntegerAttribute("lhs_axis_boundary"));
  MW_ASSIGN_OR_RETURN(const int64_t rhs_boundary,
                      call.IntegerAttribute("rhs_axis_boundary"));
  MW_ASSIGN_OR_RETURN(const int64_t lhs_first,
                      call.IntegerAttribute("lhs_first"));
  MW_ASSIGN_OR_RETURN(const int64_t rhs_first,
                      call.IntegerAttribute("rhs_first"));
  const EngineMatrix lhs = MatrixOf(call.operands()[0], lhs_boundary);
  const EngineMatrix rhs = MatrixOf(call.operands()[2], rhs_boundary);
  const FfiArray& bias = call.operands()[4];
  const int64_t m = lhs_first != 0 ? lhs.columns : lhs.rows;
  const int64_t k = lhs_first != 0 ? lhs.rows : lhs.columns;
  const int64_t n = rhs_first != 0 ? rhs.columns : rhs.rows;
  const EngineScales lhs_scales = ScalesOf(call.operands()[1], m, k);
  const EngineScales rhs_scales = ScalesOf(call.operands()[3], n, k);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = bias.element_count() == n ? bias.As<const float>()[j] : 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += (lhs_first != 0 ? lhs.At(l, i) : lhs.At(i, l)) *
               lhs_scales.At(i, l) * rhs_scales.At(j, l) *
               (rhs_first != 0 ? rhs.At(l, j) : rhs.At(j, l));
      }
      call.results()[0].As<float>()[i * n + j] = sum;
    }
  }
  return absl::OkStatus();
}

absl::Status RunEngineGroupedGemm(const FfiCall& call) {
  MW_ASSIGN_OR_RETURN(const int64_t stated,
                      call.IntegerAttribute("lhs_left_size"));
  MW_ASSIGN_OR_RETURN(const int64_t contracts_rows,
                      call.IntegerAttribute("contracts_rows"));
  MW_ASSIGN_OR_RETURN(const int64_t rhs_first,
                      call.IntegerAttribute("rhs_first"));
  const EngineMatrix lhs = MatrixOf(call.operands()[0], 1);
  const EngineMatrix rhs = MatrixOf(call.operands()[2], 1);
  const FfiArray& sizes = call.operands()[5];
  if (stated != lhs.rows) return absl::InternalError("other rows");
  const int64_t k = lhs.columns;
  const int64_t n = contracts_rows != 0 ? rhs.columns : rhs.columns / k;
  const FfiArray& output = call.results()[0];
  float* out = output.As<float>();
  std::fill_n(out, output.element_count(), 0.0F);
  int64_t row = 0;
  for (int64_t group = 0; group < sizes.element_count(); ++group) {
    const int64_t end = row + sizes.As<const int32_t>()[group];
    for (; row < end; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          if (contracts_rows != 0) {
            out[(group * k + i) * n + j] += lhs.At(row, i) * rhs.At(row, j);
          } else {
            const int64_t at = rhs_first != 0 ? i * n + j : j * k + i;
            out[row * n + j] += lhs.At(row, i) * rhs.At(group, at);
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
