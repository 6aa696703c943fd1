// Folds names that differ only in numbers into patterns, for display.
//
//   FoldNames({"blocks/0/attn/w", "blocks/1/attn/w", "head/w"});
//   // {"blocks/*/attn/w", 2}, {"head/w", 1}
//
// Only numbers that differ become a *: the pattern of blocks/0/mlp/0 and
// blocks/1/mlp/0 is blocks/*/mlp/0.
#ifndef MESHWRIGHT_BASE_FOLD_NAMES_H_
#define MESHWRIGHT_BASE_FOLD_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace meshwright {

struct FoldedName {
  std::string pattern;
  int64_t count = 1;

  // "blocks/*/attn/w x 12", or the name alone.
  std::string ToString() const;
  bool operator==(const FoldedName&) const = default;
};

// In the order in which they first occur.
std::vector<FoldedName> FoldNames(absl::Span<const std::string> names);

// "blocks/*/attn/w x 12, head/w", at most `most` of them: "..., and 3 more".
std::string FoldedList(absl::Span<const std::string> names, size_t most);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_FOLD_NAMES_H_
