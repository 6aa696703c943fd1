// A dataset as batches: any rows of the batch at a position, without the rest.
//
//   MW_ASSIGN_OR_RETURN(auto dataset, Dataset::Open(spec, {
//       {"batch/tokens", Shape::Array(ElementType::kS32, {32, 128})}}));
//   dataset->ReadRows("batch/tokens", /*position=*/64, {8, 9, 10, 11});
//   // s32[4,128]: of the third batch
//
// What a row holds depends on the dataset, the size of the batch and the
// position alone (sample_order.h). Not thread-safe.
#ifndef MESHWRIGHT_DATA_DATASET_H_
#define MESHWRIGHT_DATA_DATASET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/data/dataset_spec.h"
#include "meshwright/data/sample_files.h"
#include "meshwright/data/sample_order.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// The rows of a batch: the first dimension of the parameters that the dataset
// names, whose shapes are given. kInvalidArgument, naming the parameter, when
// they do not fit it.
absl::StatusOr<int64_t> BatchOf(const DatasetSpec& spec,
                                const std::map<std::string, Shape>& parameters);

class Dataset {
 public:
  // kInvalidArgument when its files do not fit it or the parameters; of files
  // that are not asked for (sample_order.h), when they are.
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(
      const DatasetSpec& spec, std::map<std::string, Shape> parameters);

  int64_t batch() const { return batch_; }
  const SampleOrder& order() const { return order_; }

  // Opens the files that these rows are read from, from `position` on.
  absl::Status CheckRows(int64_t position,
                         absl::Span<const int64_t> rows) const;
  // Rows of the batch at `position`, by number, for a parameter, in its type.
  // For those below 0, every byte is `padding`. Requires:
  // order().CheckPosition. kOutOfRange, naming the file, for values that the
  // type does not hold, or the vocabulary.
  absl::StatusOr<Tensor> ReadRows(const std::string& parameter,
                                  int64_t position,
                                  absl::Span<const int64_t> rows,
                                  char padding = 0);

 private:
  Dataset(DatasetSpec spec, std::map<std::string, Shape> parameters,
          int64_t batch, std::unique_ptr<SampleFiles> files, SampleOrder order);

  absl::Status Convert(const std::string& parameter, int64_t position,
                       absl::Span<const int64_t> rows, Tensor& tensor);

  const DatasetSpec spec_;
  const std::map<std::string, Shape> parameters_;
  const int64_t batch_;
  const std::unique_ptr<SampleFiles> files_;
  const SampleOrder order_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_DATASET_H_
