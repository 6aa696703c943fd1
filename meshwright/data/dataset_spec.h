// The specification of a dataset: its files, how they are divided into samples,
// their order, and which parameters of a step get what. JSON (docs/formats.md).
//
//   {"kind": "tokens", "files": ["/data/train-*.bin"], "dtype": "uint16",
//    "sequence": 128, "shuffle": 7,
//    "parameters": {"batch/tokens": "inputs", "batch/targets": "targets"}}
#ifndef MESHWRIGHT_DATA_DATASET_SPEC_H_
#define MESHWRIGHT_DATA_DATASET_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/base/element_type.h"

namespace meshwright {

struct DatasetSpec {
  enum class Kind : uint8_t {
    kTokens,  // Flat files of token ids, divided into sequences.
    kArrays,  // Files of arrays whose first dimension is the sample.
  };
  // Which files the reader of certain rows of the batch opens (sample_order.h).
  enum class ShardBy : uint8_t { kAuto, kSample, kFile };

  Kind kind = Kind::kTokens;
  std::vector<std::string> files;  // Paths, or patterns of them.
  // By parameter: "inputs", "targets" or "tokens", or the name of an array.
  std::map<std::string, std::string> parameters;
  // The seed; without it, the order of the files.
  std::optional<uint64_t> shuffle;
  ShardBy shard_by = ShardBy::kAuto;
  // How many batches are copied to the devices once, and iterated over
  // repeatedly. 0: off.
  int64_t sink = 0;

  // Of tokens.
  ElementType token_type = ElementType::kU16;
  int64_t sequence = 0;               // Tokens per sample, minus one.
  std::optional<int64_t> vocabulary;  // Ids are below this.

  bool operator==(const DatasetSpec&) const = default;
};

// kInvalidArgument: "dataset: WHAT".
absl::Status BadDataset(absl::string_view what);

// kInvalidArgument, naming the offending key.
absl::StatusOr<DatasetSpec> ParseDatasetSpec(absl::string_view json);
// The inverse.
std::string ToJson(const DatasetSpec& spec);

// Makes relative file paths relative to `folder`.
void ResolvePaths(const std::string& folder, DatasetSpec& spec);

// The files: patterns (*, ?, [..]) are replaced by what they match, sorted by
// name, unless there is a file of exactly that name. kInvalidArgument for a
// pattern that matches nothing.
absl::StatusOr<std::vector<std::string>> FindFiles(const DatasetSpec& spec);

}  // namespace meshwright

#endif  // MESHWRIGHT_DATA_DATASET_SPEC_H_
