// The inner loops of reductions and message passing: the only code compiled for
// wider vector instructions than the baseline of the program.
#ifndef MESHWRIGHT_SOLVE_MIN_PLUS_H_
#define MESHWRIGHT_SOLVE_MIN_PLUS_H_

#include <cstdint>

namespace meshwright {

// out[x] = min over rows a of weight[a] + cells[a][x].
void MinPlus(const double* weight, const double* cells, int32_t rows,
             int32_t columns, double* out);

// The same for integer costs, with AddCosts; kInfiniteCost if there are no
// rows.
void MinPlus(const int64_t* weight, const int64_t* cells, int32_t rows,
             int32_t columns, int64_t* out);

// sum[x] += values[x].
void AddTo(const double* values, int32_t count, double* sum);

// The index of the smallest a[x] + b[x]; ties go to the first.
int32_t ArgMinSum(const double* a, const double* b, int32_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_MIN_PLUS_H_
