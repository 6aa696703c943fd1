// A lower bound on the memory that a step needs on a mesh.
#ifndef MESHWRIGHT_SEARCH_LEAST_PEAK_H_
#define MESHWRIGHT_SEARCH_LEAST_PEAK_H_

#include <cstdint>

#include "meshwright/mesh/mesh.h"
#include "meshwright/search/requirements.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Bytes per device at the memory point with the highest use, if every value is
// sharded as far as any option that the requirements allow shards it. No plan
// on this mesh takes less, as the search counts. Cheap: nothing is priced or
// solved.
int64_t LeastPeak(const StepModel& model, const Mesh& mesh,
                  const Requirements& requirements);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_LEAST_PEAK_H_
