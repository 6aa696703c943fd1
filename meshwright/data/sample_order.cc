#include "meshwright/data/sample_order.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/data/permutation.h"

namespace meshwright {
namespace {

using ShardBy = DatasetSpec::ShardBy;

constexpr int64_t kMaxSamples = int64_t{1} << 60;

}  // namespace

SampleOrder::SampleOrder(const DatasetSpec& spec, int64_t files, int64_t batch,
                         SamplesOf samples_of)
    : seed_(spec.shuffle),
      files_(files),
      batch_(batch),
      sink_(spec.sink),
      is_by_file_(spec.shard_by == ShardBy::kFile ||
                  (spec.shard_by == ShardBy::kAuto && files % batch == 0)),
      rows_(std::max<int64_t>(1, batch / files)),
      turns_(std::max<int64_t>(1, files / batch)),
      samples_of_(std::move(samples_of)) {}

absl::StatusOr<SampleOrder> SampleOrder::Create(const DatasetSpec& spec,
                                                int64_t files, int64_t batch,
                                                SamplesOf samples_of) {
  if (batch < 1) return BadDataset("a batch of no rows");
  SampleOrder order(spec, files, batch, std::move(samples_of));
  if (!order.is_by_file_) {
    MW_RETURN_IF_ERROR(order.CountSamples());
  } else if (files % batch != 0 && batch % files != 0) {
    return BadDataset(absl::StrCat(
        "\"shard_by\": \"file\": ", Counted(files, "file"),
        " cannot be shared out evenly over a batch of ", batch,
        "; give a number of files that divides it or is a multiple of it, or "
        "\"shard_by\": \"sample\""));
  }
  return order;
}

absl::Status SampleOrder::CountSamples() {
  int64_t end = 0;
  for (int64_t file = 0; file < files_; ++file) {
    MW_ASSIGN_OR_RETURN(const int64_t samples, samples_of_(file));
    if (samples > kMaxSamples - end) return BadDataset("too many samples");
    end += samples;
    ends_.push_back(end);
  }
  if (end >= batch_) return absl::OkStatus();
  return BadDataset(absl::StrCat("the files have ", Counted(end, "sample"),
                                 ", fewer than a batch of ", batch_));
}

absl::Status SampleOrder::CheckReaders(
    absl::Span<const std::vector<int64_t>> rows_of_readers) const {
  if (!is_by_file_) return absl::OkStatus();
  // By set of files that take turns.
  std::vector<int64_t> reader_of(files_ / turns_, -1);
  for (size_t reader = 0; reader < rows_of_readers.size(); ++reader) {
    for (const int64_t row : rows_of_readers[reader]) {
      if (row < 0) continue;
      int64_t& owner = reader_of[row / rows_];
      if (owner < 0) owner = static_cast<int64_t>(reader);
      if (owner == static_cast<int64_t>(reader)) continue;
      return BadDataset(absl::StrCat(
          "\"shard_by\": \"file\": ", Counted(files_, "file"),
          " cannot be shared out to the ", rows_of_readers.size(),
          " parts that the batch of ", batch_,
          " is split into; give a multiple of them, or \"shard_by\": "
          "\"sample\""));
    }
  }
  return absl::OkStatus();
}

absl::Status SampleOrder::CheckPosition(int64_t position) const {
  if (position < 0 || position > kMaxSamples) {
    return BadDataset(
        absl::StrCat("position ", position, " is not in the dataset"));
  }
  if ((!is_by_file_ && sink_ == 0) || position % batch_ == 0) {
    return absl::OkStatus();
  }
  return BadDataset(absl::StrCat(
      "position ", position, " is no multiple of the ", batch_,
      " samples of a batch, as ",
      sink_ > 0 ? "\"sink\"" : "\"shard_by\": \"file\"", " needs it"));
}

int64_t SampleOrder::Shuffled(int64_t sample, int64_t samples, int64_t epoch,
                              std::optional<int64_t> file) const {
  if (!seed_.has_value()) return sample;
  uint64_t key = DeriveKey(*seed_, epoch);
  if (file.has_value()) key = DeriveKey(key, *file);
  return Permutation(samples, key).At(sample);
}

absl::StatusOr<SampleOrder::At> SampleOrder::LocateInFile(int64_t step,
                                                          int64_t row) const {
  At at{.file = row / rows_ * turns_ + step % turns_};
  MW_ASSIGN_OR_RETURN(const int64_t samples, samples_of_(at.file));
  if (samples < rows_) {
    return BadDataset(absl::StrCat(
        "\"shard_by\": \"file\": file ", at.file + 1, " of ", files_, " has ",
        Counted(samples, "sample"), ", a batch takes ", rows_, " of it"));
  }
  const int64_t taken = step / turns_ * rows_ + row % rows_;
  at.sample = Shuffled(taken % samples, samples, taken / samples, at.file);
  return at;
}

absl::StatusOr<SampleOrder::At> SampleOrder::Locate(int64_t position,
                                                    int64_t row) const {
  if (sink_ > 0) position %= sink_ * batch_;
  if (is_by_file_) return LocateInFile(position / batch_, row);
  const int64_t samples = ends_.back();
  const int64_t at = position + row;
  const int64_t sample =
      Shuffled(at % samples, samples, at / samples, std::nullopt);
  const auto file = std::ranges::upper_bound(ends_, sample);
  const int64_t begin = file == ends_.begin() ? 0 : *(file - 1);
  return At{.file = file - ends_.begin(), .sample = sample - begin};
}

}  // namespace meshwright
