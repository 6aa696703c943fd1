// The inner loops of message passing: the only ones compiled for wider vectors
// than the least the program may run on.
#ifndef MESHWRIGHT_SOLVE_MIN_PLUS_H_
#define MESHWRIGHT_SOLVE_MIN_PLUS_H_

#include <cstdint>

namespace meshwright {

// out[x] = min over rows a of weight[a] + cells[a][x].
void MinPlus(const double* weight, const double* cells, int32_t rows,
             int32_t columns, double* out);

// sum[x] += values[x].
void AddTo(const double* values, int32_t count, double* sum);

// The index of the smallest of a[x] + b[x], the first among equals.
int32_t ArgMinSum(const double* a, const double* b, int32_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_MIN_PLUS_H_
