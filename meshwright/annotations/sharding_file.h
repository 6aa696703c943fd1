// The user's sharding file (JSON).
//
//   {"mesh": {"data": 4, "model": 2},
//    "parameters": {"batch/*": "[data, -]",
//                   "state/params/blocks/0/qkv": [[], ["model"]]},
//    "outputs": {"out/1": []},
//    "instructions": {"dot.17": "[data, ?]"}}
//
// A key is a name, or a pattern in which * matches any characters; for a tensor
// an exact name takes precedence, then the first matching pattern. A value is a
// sharding as text (mesh/sharding_text.h), a list of the axes of each
// dimension, or null for no requirement. "?" instead of a dimension's axes
// leaves it open.
#ifndef MESHWRIGHT_ANNOTATIONS_SHARDING_FILE_H_
#define MESHWRIGHT_ANNOTATIONS_SHARDING_FILE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// The names of tensors, by leaf of the entry's parameters and result.
struct TensorNames {
  std::vector<std::string> parameters;
  std::vector<std::string> outputs;
};

struct ShardingFile {
  Mesh mesh;
  Annotations annotations;
};

struct ShardingFileOptions {
  // The mesh of a file without one; must otherwise equal the file's.
  std::optional<Mesh> mesh;
  // Whether dimensions need not divide.
  bool allow_uneven = true;
};

// Parses the content of a file. kInvalidArgument names the tensor and what is
// wrong with it; for a key that matches nothing, the most similar names.
absl::StatusOr<ShardingFile> ParseShardingFile(
    absl::string_view text, const Module& module, const TensorNames& names,
    const ShardingFileOptions& options = {});

// "[data, ?]": which dimensions are "?"; replaces these in the text by "-".
std::vector<bool> TakeFree(std::string& text, size_t rank);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_SHARDING_FILE_H_
