// Rates in round numbers.
#ifndef MESHWRIGHT_COST_RATES_FOR_TEST_H_
#define MESHWRIGHT_COST_RATES_FOR_TEST_H_

#include "meshwright/cost/rates.h"

namespace meshwright {

// 1 ns per operation and byte, 1 us per kernel, 10 us per collective.
inline Rates SimpleRates(double overlap) {
  Rates rates;
  rates.matmul[ElementType::kF32].points = {{1, 1e9}};
  rates.memory.points = {{1, 1e9}};
  rates.vector_flops.value = 1e9;
  rates.transcendentals.value = 1e8;
  rates.op_seconds.value = 1e-6;
  rates.batch_together.value = 1;
  rates.overlap.value = overlap;
  rates.levels.resize(1);
  for (auto& kind : rates.levels[0].kinds) kind = {{2, 10e-6, 1e-9}};
  return rates;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_RATES_FOR_TEST_H_
