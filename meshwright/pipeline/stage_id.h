// Stages of a pipeline, in the order in which values flow.
#ifndef MESHWRIGHT_PIPELINE_STAGE_ID_H_
#define MESHWRIGHT_PIPELINE_STAGE_ID_H_

#include "meshwright/base/strong_id.h"

namespace meshwright {

using StageId = StrongId<struct StageIdTag>;
inline constexpr StageId kNoStage{-1};

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_ID_H_
