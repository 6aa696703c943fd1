// A dataset as batches: reads any rows of the batch at a position, without the
// rest.
//
//   MW_ASSIGN_OR_RETURN(auto dataset, Dataset::Open(spec, {
//       {"batch/tokens", Shape::Array(ElementType::kS32, {32, 128})}}));
//   dataset->ReadRows("batch/tokens", /*position=*/64, {8, 9, 10, 11});
//   // s32[4,128], rows of the third batch
//
// The content of a row depends on the dataset, the batch size and the position
// only (sample_order.h). Not thread-safe.
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

// The batch size: the first dimension of the parameters that the dataset names,
// whose shapes are given. kInvalidArgument, naming the parameter, if they do
// not fit.
absl::StatusOr<int64_t> BatchOf(const DatasetSpec& spec,
                                const std::map<std::string, Shape>& parameters);

class Dataset {
 public:
  // kInvalidArgument if its files do not fit the specification or the
  // parameters. Files that are not read now (sample_order.h) are checked when
  // they are.
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(
      const DatasetSpec& spec, std::map<std::string, Shape> parameters);

  int64_t batch() const { return batch_; }
  const SampleOrder& order() const { return order_; }

  // Opens the files from which these rows are read, from `position` on.
  absl::Status CheckRows(int64_t position,
                         absl::Span<const int64_t> rows) const;
  // Rows of the batch at `position`, by number, for a parameter, in its type.
  // Rows with negative numbers are filled with `padding` bytes. Requires:
  // order().CheckPosition. kOutOfRange, naming the file, for values that do not
  // fit the type or the vocabulary.
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
