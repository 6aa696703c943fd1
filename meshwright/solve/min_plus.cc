#include "meshwright/solve/min_plus.h"

#include <limits>

#include "meshwright/solve/problem.h"

namespace meshwright {

// Sanitizers would run before the resolvers of cloned functions (ifuncs) could.
#if defined(__has_feature)
#define MW_SANITIZED \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MW_SANITIZED 1
#else
#define MW_SANITIZED 0
#endif
#if defined(__x86_64__) && !MW_SANITIZED
#define MW_WIDE_VECTORS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MW_WIDE_VECTORS
#endif

MW_WIDE_VECTORS
void MinPlus(const double* weight, const double* cells, int32_t rows,
             int32_t columns, double* out) {
  for (int32_t x = 0; x < columns; ++x) out[x] = weight[0] + cells[x];
  for (int32_t a = 1; a < rows; ++a) {
    const double w = weight[a];
    const double* const row = cells + static_cast<int64_t>(a) * columns;
    for (int32_t x = 0; x < columns; ++x) {
      const double sum = w + row[x];
      out[x] = sum < out[x] ? sum : out[x];
    }
  }
}

MW_WIDE_VECTORS
void MinPlus(const int64_t* weight, const int64_t* cells, int32_t rows,
             int32_t columns, int64_t* out) {
  for (int32_t x = 0; x < columns; ++x) out[x] = kInfiniteCost;
  for (int32_t a = 0; a < rows; ++a) {
    const int64_t w = weight[a];
    if (w >= kInfiniteCost) continue;
    const int64_t* const row = cells + static_cast<int64_t>(a) * columns;
    for (int32_t x = 0; x < columns; ++x) {
      const int64_t sum = row[x] < kInfiniteCost ? w + row[x] : kInfiniteCost;
      out[x] = sum < out[x] ? sum : out[x];
    }
  }
}

MW_WIDE_VECTORS
void AddTo(const double* values, int32_t count, double* sum) {
  for (int32_t x = 0; x < count; ++x) sum[x] += values[x];
}

int32_t ArgMinSum(const double* a, const double* b, int32_t count) {
  int32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int32_t x = 0; x < count; ++x) {
    const double sum = a[x] + b[x];
    if (sum >= least) continue;
    least = sum;
    best = x;
  }
  return best;
}

}  // namespace meshwright
