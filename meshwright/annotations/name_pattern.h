// Finding tensors by name: patterns, and suggestions for misspelt names.
#ifndef MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_
#define MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright {

// A pattern contains a '*', which matches any characters, including slashes.
bool IsPattern(absl::string_view key);
bool Matches(absl::string_view pattern, absl::string_view name);

// The `count` names with the least edit distance to `wanted`, nearest first.
std::vector<std::string> NearestNames(absl::string_view wanted,
                                      absl::Span<const std::string> names,
                                      size_t count);
// All names that are equally near, nearer than the others; at most `most`.
// None that has nothing in common with `wanted`.
std::vector<std::string> ClosestNames(absl::string_view wanted,
                                      absl::Span<const std::string> names,
                                      size_t most);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_
