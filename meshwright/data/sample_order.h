// Which sample a row of a batch is: a function of the dataset, the batch size
// and the position only, however the batch is divided among readers.
//
// A position counts samples from the beginning of the first epoch. With
// kSample, position p is sample p mod N of epoch p / N, in the order of that
// epoch; readers may open any file. With kFile, rows [k B/F, (k+1) B/F) of
// every batch of B are the next samples of file k of F (or, with more files
// than rows, row r alternates between files [r F/B, (r+1) F/B)): whoever reads
// a part of the batch reads the same files in every step, and nobody else reads
// them if the number of parts divides F. Every file then has its own epochs.
//
//   4 files, a batch of 8:      rows 0 1 | 2 3 | 4 5 | 6 7
//                              files  0  |  1  |  2  |  3
//   two readers: the first opens files 0 and 1, the other 2 and 3
#ifndef MESHWRIGHT_DATA_SAMPLE_ORDER_H_
#define MESHWRIGHT_DATA_SAMPLE_ORDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/data/dataset_spec.h"

namespace meshwright {

class SampleOrder {
 public:
  struct At {
    int64_t file = 0;
    int64_t sample = 0;  // Within the file.

    bool operator==(const At&) const = default;
  };
  // The number of samples of a file.
  using SamplesOf = std::function<absl::StatusOr<int64_t>(int64_t file)>;

  // By sample, all files are asked for their sample counts now; by file, those
  // from which rows are taken, when they are. kInvalidArgument if a batch
  // cannot be taken from them.
  static absl::StatusOr<SampleOrder> Create(const DatasetSpec& spec,
                                            int64_t files, int64_t batch,
                                            SamplesOf samples_of);

  // kAuto is by file if that permits any division of the batch: if every row
  // has the same number of files. It never depends on how the batch is divided.
  bool is_by_file() const { return is_by_file_; }
  // kInvalidArgument if, by file, two readers with these rows of every batch
  // would share a file.
  absl::Status CheckReaders(
      absl::Span<const std::vector<int64_t>> rows_of_readers) const;
  // After how many steps the same files are read again.
  int64_t cycle() const { return is_by_file_ ? turns_ : 1; }
  // kInvalidArgument for a position at which no batch begins.
  absl::Status CheckPosition(int64_t position) const;

  // Row `row` of the batch at `position`. Requires: CheckPosition.
  absl::StatusOr<At> Locate(int64_t position, int64_t row) const;

 private:
  SampleOrder(const DatasetSpec& spec, int64_t files, int64_t batch,
              SamplesOf samples_of);

  absl::Status CountSamples();
  absl::StatusOr<At> LocateInFile(int64_t step, int64_t row) const;
  int64_t Shuffled(int64_t sample, int64_t samples, int64_t epoch,
                   std::optional<int64_t> file) const;

  const std::optional<uint64_t> seed_;
  const int64_t files_;
  const int64_t batch_;
  const int64_t sink_;
  const bool is_by_file_;
  const int64_t rows_;   // By file: rows of one file in a batch.
  const int64_t turns_;  // By file: how many files alternate at a row.
  const SamplesOf samples_of_;
  // By sample: the end of each file in the list of all samples.
  std::vector<int64_t> ends_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_SAMPLE_ORDER_H_
