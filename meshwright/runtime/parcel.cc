#include "meshwright/runtime/parcel.h"

#include <utility>

namespace meshwright {

void PieceRack::Put(const PieceKey& key, Piece piece) {
  {
    const std::lock_guard lock(mutex_);
    parked_[key] = std::move(piece);
  }
  changed_.notify_all();
}

absl::StatusOr<PieceRack::Piece> PieceRack::Take(const PieceKey& key) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !error_.ok() || parked_.contains(key); });
  if (!error_.ok()) return error_;
  return std::move(parked_.extract(key).mapped());
}

void PieceRack::Stop(absl::Status error) {
  {
    const std::lock_guard lock(mutex_);
    error_.Update(error);
  }
  changed_.notify_all();
}

absl::Status PieceRack::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace meshwright
