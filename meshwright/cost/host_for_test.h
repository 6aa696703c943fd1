// Rates of devices that do not wait for their host, which is most of what tiny
// steps take on accelerators.
#ifndef MESHWRIGHT_COST_HOST_FOR_TEST_H_
#define MESHWRIGHT_COST_HOST_FOR_TEST_H_

#include "meshwright/cost/rates.h"

namespace meshwright {

inline Rates WithFreeHost(Rates rates) {
  for (Figure* of_host : {&rates.launch_seconds, &rates.graph_seconds,
                          &rates.library_seconds, &rates.argument_seconds}) {
    of_host->value = 0;
  }
  return rates;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_HOST_FOR_TEST_H_
