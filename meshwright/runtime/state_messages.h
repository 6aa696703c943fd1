// Messages to and from workers about state and its files.
#ifndef MESHWRIGHT_RUNTIME_STATE_MESSAGES_H_
#define MESHWRIGHT_RUNTIME_STATE_MESSAGES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/checkpoint/shard_file.h"
#include "meshwright/runtime/save_plan.h"
#include "proto/worker.pb.h"

namespace meshwright {

proto::StateTensors ToProto(const StateMap& map);
// kInvalidArgument if it does not fit this job.
absl::StatusOr<StateMap> ReadStateMap(const proto::StateTensors& state,
                                      const Job& job);

proto::SavedFiles::File ToProto(int64_t number, const WrittenFile& file);
WrittenFile FromProto(const proto::SavedFiles::File& file);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STATE_MESSAGES_H_
