// A team's key-value callbacks (process_team.h) in the form that PJRT takes.
#ifndef MESHWRIGHT_ENGINE_PJRT_KEY_VALUES_H_
#define MESHWRIGHT_ENGINE_PJRT_KEY_VALUES_H_

#include <utility>

#include "meshwright/engine/pjrt_api.h"
#include "meshwright/engine/process_team.h"

namespace meshwright {

class PjrtKeyValues {
 public:
  explicit PjrtKeyValues(ProcessTeam team) : team_(std::move(team)) {}
  PjrtKeyValues(const PjrtKeyValues&) = delete;
  PjrtKeyValues& operator=(const PjrtKeyValues&) = delete;

  // The client that is created so uses them to its end.
  void AddTo(PJRT_Client_Create_Args& args);

 private:
  static PJRT_Error* Get(PJRT_KeyValueGetCallback_Args* args);
  static PJRT_Error* TryGet(PJRT_KeyValueTryGetCallback_Args* args);
  static PJRT_Error* Put(PJRT_KeyValuePutCallback_Args* args);

  const ProcessTeam team_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_KEY_VALUES_H_
