// Limits the bytes of unfinished uploads that a server holds.
//
//   UploadBudget budget(16 << 30);
//   UploadCharge charge(&budget);          // For one upload.
//   MW_RETURN_IF_ERROR(charge.Add(part.size()));
#ifndef MESHWRIGHT_SERVICE_UPLOAD_BUDGET_H_
#define MESHWRIGHT_SERVICE_UPLOAD_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace meshwright {

// Thread-safe.
class UploadBudget {
 public:
  explicit UploadBudget(int64_t max_bytes) : max_bytes_(max_bytes) {}

  int64_t max_bytes() const { return max_bytes_; }
  bool Take(int64_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= max_bytes_) return true;
    taken_ -= bytes;
    return false;
  }
  void Return(int64_t bytes) { taken_ -= bytes; }

 private:
  const int64_t max_bytes_;
  std::atomic<int64_t> taken_ = 0;
};

// The share of one upload; returned when it ends.
class UploadCharge {
 public:
  explicit UploadCharge(UploadBudget* budget) : budget_(budget) {}
  ~UploadCharge() { Clear(); }
  UploadCharge(const UploadCharge&) = delete;
  UploadCharge& operator=(const UploadCharge&) = delete;

  absl::Status Add(int64_t bytes) {
    if (!budget_->Take(bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("uploads are larger than the ", budget_->max_bytes(),
                       " bytes that are held at once"));
    }
    bytes_ += bytes;
    return absl::OkStatus();
  }
  void Clear() { budget_->Return(std::exchange(bytes_, 0)); }

 private:
  UploadBudget* const budget_;
  int64_t bytes_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_UPLOAD_BUDGET_H_
