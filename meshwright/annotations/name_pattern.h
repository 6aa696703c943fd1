// Finding tensors by name: patterns, and suggestions for names that are wrong.
#ifndef MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_
#define MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace meshwright {

// A pattern has a '*', which stands for any characters, slashes too.
bool IsPattern(absl::string_view key);
bool Matches(absl::string_view pattern, absl::string_view name);

// The `count` names that take the fewest changes of a character to become
// `wanted`, nearest first.
std::vector<std::string> NearestNames(absl::string_view wanted,
                                      absl::Span<const std::string> names,
                                      size_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_NAME_PATTERN_H_
