// Test support: a call that tests can cancel.
#ifndef MESHWRIGHT_API_CALL_FOR_TEST_H_
#define MESHWRIGHT_API_CALL_FOR_TEST_H_

#include <atomic>

#include "meshwright/service/job_service.h"

namespace meshwright {

class CallForTest : public JobCall {
 public:
  bool cancelled() const override { return is_cancelled; }
  std::atomic<bool> is_cancelled = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_CALL_FOR_TEST_H_
