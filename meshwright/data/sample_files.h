// The files of a dataset as individually readable samples.
//
// A flat file of T tokens has (T - 1) / L samples of sequence length L: sample
// k is tokens [k L, k L + L + 1); its inputs are all but the last of them, its
// targets all but the first. Of arrays, sample k is row k.
#ifndef MESHWRIGHT_DATA_SAMPLE_FILES_H_
#define MESHWRIGHT_DATA_SAMPLE_FILES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/random_access_file.h"
#include "meshwright/data/dataset_spec.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/state/safetensors.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// Files are opened on demand, and a limited number is open at a time. Errors
// begin with the file's path: kInvalidArgument unless it cannot be read.
class SampleFiles {
 public:
  // The shapes are those of whole batches.
  SampleFiles(DatasetSpec spec, std::vector<std::string> paths,
              std::map<std::string, Shape> parameters);

  int64_t count() const { return static_cast<int64_t>(files_.size()); }
  const std::string& path(int64_t file) const { return files_[file].path; }

  // At least 1.
  absl::StatusOr<int64_t> Samples(int64_t file);
  // Appends a parameter's part of a sample, one row in the file's type, to
  // `rows`.
  absl::Status Append(int64_t file, int64_t sample,
                      const std::string& parameter, Tensor& rows);

 private:
  struct File {
    std::string path;
    int64_t bytes = -1;  // -1: not opened yet.
    int64_t samples = 0;
    // By parameter, its data of all samples; of tokens a single entry for all.
    std::map<std::string, PlacedTensor> places;
    std::unique_ptr<RandomAccessFile> open;
  };

  absl::StatusOr<RandomAccessFile*> OpenFile(File& file);
  absl::Status Index(const RandomAccessFile& open, File& file) const;
  absl::Status IndexTokens(const RandomAccessFile& open, File& file) const;
  absl::Status IndexArrays(const RandomAccessFile& open, File& file) const;
  absl::Status CheckType(const std::string& parameter,
                         const PlacedTensor& place) const;

  const DatasetSpec spec_;
  const std::map<std::string, Shape> parameters_;
  std::vector<File> files_;
  std::deque<File*> open_;  // The one open longest first.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_SAMPLE_FILES_H_
