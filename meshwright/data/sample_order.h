// Which sample a row of a batch is: a function of the dataset, the size of the
// batch and the position alone, however the batch is split over readers.
//
// A position counts samples from the beginning of the first epoch. By sample,
// position p is sample p mod N of epoch p / N, in the order of that epoch; its
// readers open any file. By file, rows [k B/F, (k+1) B/F) of every batch of B
// are the next samples of file k of F (or, of more files than rows, row r takes
// turns with files [r F/B, (r+1) F/B)): whoever reads a part of the batch reads
// the same files in every step, and nobody else does where the number of parts
// divides F. Every file then has epochs of its own.
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
    int64_t sample = 0;  // Of the file.

    bool operator==(const At&) const = default;
  };
  // How many samples a file has.
  using SamplesOf = std::function<absl::StatusOr<int64_t>(int64_t file)>;

  // By sample, all files are asked for their samples; by file, those that rows
  // are taken from, when they are. kInvalidArgument when a batch cannot be
  // taken from them.
  static absl::StatusOr<SampleOrder> Create(const DatasetSpec& spec,
                                            int64_t files, int64_t batch,
                                            SamplesOf samples_of);

  // Auto is by file where any split of the batch allows it: where every row has
  // as many files. Whatever it is, it does not depend on how the batch is
  // split.
  bool is_by_file() const { return is_by_file_; }
  // kInvalidArgument when, by file, two readers, who read these rows of every
  // batch, would share a file.
  absl::Status CheckReaders(
      absl::Span<const std::vector<int64_t>> rows_of_readers) const;
  // Every how many steps the same files are read.
  int64_t cycle() const { return is_by_file_ ? turns_ : 1; }
  // kInvalidArgument for a position that no batch begins at.
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
  const int64_t rows_;   // By file: of one file, in a batch.
  const int64_t turns_;  // By file: files that take turns at a row.
  const SamplesOf samples_of_;
  std::vector<int64_t> ends_;  // By sample: of files, in all samples.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_SAMPLE_ORDER_H_
