// A coordinator with real workers, which are threads on virtual devices, and a
// small step for them.
#ifndef MESHWRIGHT_API_SERVED_JOBS_FOR_TEST_H_
#define MESHWRIGHT_API_SERVED_JOBS_FOR_TEST_H_

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/api/call_for_test.h"
#include "meshwright/api/served_jobs.h"
#include "meshwright/runtime/worker_threads_for_test.h"
#include "meshwright/service/tensors_for_test.h"

namespace meshwright {

// Fits w so that x w is 0: state w, data x, loss the mean of squares.
inline constexpr char kStep[] = R"(
HloModule fit, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[8,4]{1,0}, f32[16,8]{1,0})->(f32[8,4]{1,0}, f32[])}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  w = f32[8,4]{1,0} parameter(0)
  x = f32[16,8]{1,0} parameter(1)
  y = f32[16,4]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  square = f32[16,4]{1,0} multiply(y, y)
  zero = f32[] constant(0)
  total = f32[] reduce(square, zero), dimensions={0,1}, to_apply=add
  count = f32[] constant(64)
  loss = f32[] divide(total, count)
  gradient = f32[8,4]{1,0} dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  rate = f32[] constant(0.01)
  rates = f32[8,4]{1,0} broadcast(rate), dimensions={}
  change = f32[8,4]{1,0} multiply(gradient, rates)
  next = f32[8,4]{1,0} subtract(w, change)
  ROOT out = (f32[8,4]{1,0}, f32[]) tuple(next, loss)
}
)";

inline Tensor Filled(const std::string& name, std::vector<int64_t> dimensions,
                     float value) {
  Tensor tensor{.name = name,
                .type = ElementType::kF32,
                .dimensions = std::move(dimensions)};
  int64_t count = 1;
  for (const int64_t size : tensor.dimensions) count *= size;
  for (int64_t i = 0; i < count; ++i) {
    tensor.data.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return tensor;
}

inline float FirstOf(const Tensor& tensor) {
  float value = 0;
  std::memcpy(&value, tensor.data.data(), sizeof(value));
  return value;
}

class ServedJobsTest : public testing::Test {
 protected:
  explicit ServedJobsTest(int workers = 2) {
    for (int i = 0; i < workers; ++i) workers_.Add(/*devices=*/2);
    jobs_.emplace(ServedJobs::Options{.coordinator = &workers_.coordinator(),
                                      .cluster = std::nullopt,
                                      .patience = absl::Milliseconds(300)});
  }

  std::string PlanFor(const std::string& cluster,
                      const std::string& options = "{}") {
    nlohmann::json given = nlohmann::json::parse(options);
    given["assumed"] = true;
    absl::StatusOr<std::string> plan =
        jobs_->Plan({kStep, cluster, given.dump()}, call_);
    EXPECT_EQ(plan.status(), absl::OkStatus());
    return plan.value_or("");
  }

  // Of the state, and of the data: all elements alike.
  int64_t Loaded(const std::string& plan, float w = 1, float x = 1) {
    const absl::StatusOr<int64_t> job = jobs_->Load(kStep, plan, call_);
    EXPECT_EQ(job.status(), absl::OkStatus());
    TensorsForTest tensors({Filled("w", {8, 4}, w), Filled("x", {16, 8}, x)});
    EXPECT_EQ(jobs_->Init(job.value_or(0), {}, tensors, call_),
              absl::OkStatus());
    return job.value_or(0);
  }

  absl::Status Step(int64_t job, int64_t count, std::vector<JobStep>* steps,
                    std::vector<Tensor> given = {}) {
    TensorsForTest data(std::move(given));
    return jobs_->Step(
        job, count, data,
        [&](const JobStep& step) {
          steps->push_back(step);
          return absl::OkStatus();
        },
        call_);
  }

  absl::StatusOr<std::vector<Tensor>> Fetch(int64_t job,
                                            std::vector<Wanted> wanted) {
    std::vector<Tensor> tensors;
    const absl::Status status = jobs_->Fetch(
        job, std::move(wanted),
        [&](Tensor tensor) {
          tensors.push_back(std::move(tensor));
          return absl::OkStatus();
        },
        call_);
    if (!status.ok()) return status;
    return tensors;
  }

  nlohmann::json Described() {
    return nlohmann::json::parse(jobs_->Describe(call_).value());
  }

  WorkerThreadsForTest workers_;
  CallForTest call_;
  std::optional<ServedJobs> jobs_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SERVED_JOBS_FOR_TEST_H_
