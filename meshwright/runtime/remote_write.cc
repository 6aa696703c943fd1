#include "meshwright/runtime/remote_write.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/state_messages.h"

namespace meshwright {

absl::StatusOr<std::vector<WrittenFile>> RemoteWrite::Await() {
  std::vector<WrittenFile> written(files_);
  std::vector<bool> is_done(team_.size());
  int64_t seen = 0;
  absl::Status status;
  const auto take = [&](size_t number) {
    for (const proto::SavedFiles& saved : team_[number]->TakeSaved(save_)) {
      for (const proto::SavedFiles::File& file : saved.files()) {
        if (file.number() < 0 || file.number() >= files_) {
          status.Update(absl::InternalError(absl::StrCat(
              team_[number]->name(), " wrote a file that was not planned")));
          continue;
        }
        written[file.number()] = FromProto(file);
        ++seen;
      }
      if (!saved.last()) continue;
      is_done[number] = true;
      const auto code = static_cast<absl::StatusCode>(saved.code());
      if (code == absl::StatusCode::kOk) continue;
      status.Update(absl::Status(
          code, team_.size() > 1
                    ? absl::StrCat(team_[number]->name(), ": ", saved.message())
                    : saved.message()));
    }
    return is_done[number];
  };
  // Waits for all workers: one that still writes would prevent the folder's
  // removal.
  MW_RETURN_IF_ERROR(watch_->Wait(team_, absl::InfiniteDuration(), [&] {
    bool is_all = true;
    for (size_t i = 0; i < team_.size(); ++i) is_all &= take(i);
    return is_all || !aborted_().ok();
  }));
  MW_RETURN_IF_ERROR(aborted_());
  MW_RETURN_IF_ERROR(status);
  if (seen != files_) return absl::InternalError("files were not written");
  return written;
}

}  // namespace meshwright
