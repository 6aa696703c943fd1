// What answers a client that wants steps, by whichever way it asks: gRPC
// (job_answers.cc), or a socket of its own (step_socket.h).
#ifndef MESHWRIGHT_SERVICE_STEP_ANSWER_H_
#define MESHWRIGHT_SERVICE_STEP_ANSWER_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/regions.h"
#include "meshwright/service/tensor_sender.h"
#include "meshwright/service/upload_budget.h"
#include "proto/service.pb.h"

namespace meshwright {

// A call, and what it uses of the memory that its client shares.
class RegionCall : public JobCall {
 public:
  // Null: nothing is shared.
  explicit RegionCall(std::shared_ptr<const SharedMemory> memory)
      : regions(std::move(memory)) {}

  Regions regions;
};

proto::StepResult ResultOf(const JobStep& step);

// `send` gets what is to be fetched after the last step.
absl::Status StepAndFetch(JobService& jobs, const proto::StepPart::Begin& begin,
                          TensorSource& data, const JobService::StepSink& done,
                          const TensorSender::Send& send, RegionCall& call);

// All in one message each way. Takes the tensors out of the request.
absl::Status AnswerSteps(JobService& jobs, UploadBudget& budget,
                         proto::StepRequest& request, proto::StepReply& reply,
                         RegionCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_STEP_ANSWER_H_
