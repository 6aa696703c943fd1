// Where a text stops being JSON, for who wrote it by hand.
//
//   NotJson("{\"data\": 2,\n}")
//       // "is not valid JSON from line 2, column 1: '}'"
#ifndef MESHWRIGHT_BASE_JSON_FAULT_H_
#define MESHWRIGHT_BASE_JSON_FAULT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace meshwright {

// "is not valid JSON from line 2, column 1: '}'"; at the end of the text "is
// not valid JSON: it ends too early".
std::string NotJson(absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_JSON_FAULT_H_
