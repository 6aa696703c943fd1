#include "meshwright/service/step_answer.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/tensor_parts.h"

namespace meshwright {
namespace {

// The tensors of a message, each in one part.
class MessageTensors final : public TensorSource {
 public:
  MessageTensors(
      google::protobuf::RepeatedPtrField<proto::NamedTensorPart>& parts,
      int64_t staged, UploadBudget& budget, Regions& regions)
      : parts_(parts), staged_(staged), budget_(budget), regions_(regions) {}

  int64_t staged() const override { return staged_; }

  absl::StatusOr<std::optional<LentTensor>> Next() override {
    if (next_ == parts_.size()) return std::optional<LentTensor>();
    TensorAssembler assembler(&budget_, &regions_);
    MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor,
                        assembler.Add(std::move(parts_[next_++])));
    MW_RETURN_IF_ERROR(assembler.End());
    return tensor;
  }

 private:
  google::protobuf::RepeatedPtrField<proto::NamedTensorPart>& parts_;
  const int64_t staged_;
  UploadBudget& budget_;
  Regions& regions_;
  int next_ = 0;
};

}  // namespace

proto::StepResult ResultOf(const JobStep& step) {
  proto::StepResult result;
  result.set_step(step.step);
  result.set_seconds(step.seconds);
  result.set_has_loss(step.loss.has_value());
  result.set_loss(step.loss.value_or(0));
  result.set_has_position(step.position.has_value());
  result.set_position(step.position.value_or(0));
  return result;
}

absl::Status StepAndFetch(JobService& jobs, const proto::StepPart::Begin& begin,
                          TensorSource& data, const JobService::StepSink& done,
                          const TensorSender::Send& send, RegionCall& call) {
  if (begin.count() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(begin.count(), " steps cannot be run"));
  }
  MW_ASSIGN_OR_RETURN(std::vector<Wanted> wanted,
                      WantedOf(begin.fetch(), begin.into(), call.regions));
  TensorSender sender(begin.into(), send);
  return jobs.StepAndFetch(
      begin.job(), begin.count(), data, done, std::move(wanted),
      [&](const Tensor& tensor) { return sender.Add(tensor); }, call);
}

absl::Status AnswerSteps(JobService& jobs, UploadBudget& budget,
                         proto::StepRequest& request, proto::StepReply& reply,
                         RegionCall& call) {
  MessageTensors data(*request.mutable_tensors(), request.begin().batch(),
                      budget, call.regions);
  const auto done = [&](const JobStep& step) {
    *reply.add_steps() = ResultOf(step);
    return absl::OkStatus();
  };
  const auto send = [&](proto::NamedTensorPart part) {
    *reply.add_tensors() = std::move(part);
    return reply.ByteSizeLong() <= kMaxMessageBytes
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "what is to be fetched is more than a message holds: "
                     "call Step");
  };
  return StepAndFetch(jobs, request.begin(), data, done, send, call);
}

}  // namespace meshwright
