// Suggestions for mistyped words.
#ifndef MESHWRIGHT_BASE_NEAREST_WORD_H_
#define MESHWRIGHT_BASE_NEAREST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

// The candidate closest to `word` by edit distance, if it is close at all.
std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& candidates);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_NEAREST_WORD_H_
