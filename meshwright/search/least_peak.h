// How little memory a step can do with on a mesh.
#ifndef MESHWRIGHT_SEARCH_LEAST_PEAK_H_
#define MESHWRIGHT_SEARCH_LEAST_PEAK_H_

#include <cstdint>

#include "meshwright/mesh/mesh.h"
#include "meshwright/search/demands.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Bytes on a device at its fullest moment when every value is split as far as
// an option that the demands allow splits it: no plan on this mesh
// takes less, as the search counts. Cheap: nothing is priced or solved.
int64_t LeastPeak(const StepModel& model, const Mesh& mesh,
                  const Demands& demands);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_LEAST_PEAK_H_
