// Tensors that are there already, as they come to a service.
#ifndef MESHWRIGHT_SERVICE_TENSORS_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_TENSORS_FOR_TEST_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/service/job_service.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

class TensorsForTest : public TensorSource {
 public:
  explicit TensorsForTest(std::vector<Tensor> tensors = {}, int64_t staged = 0)
      : tensors_(std::move(tensors)), staged_(staged) {}
  int64_t staged() const override { return staged_; }
  absl::StatusOr<std::optional<LentTensor>> Next() override {
    if (next_ == tensors_.size()) return std::optional<LentTensor>();
    return LentTensor{.tensor = tensors_[next_++]};
  }

 private:
  const std::vector<Tensor> tensors_;
  const int64_t staged_;
  size_t next_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_TENSORS_FOR_TEST_H_
