// Appends fields of XLA's schema that this project does not interpret to the
// unknown fields of a message.
#ifndef MESHWRIGHT_HLO_TEXT_FIELDS_H_
#define MESHWRIGHT_HLO_TEXT_FIELDS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace meshwright::internal {

// A number, flag or enum; nothing for 0, which is every field's default.
void AddField(int number, int64_t value, std::string& unknown_fields);
// A string, or a message as bytes.
void AddField(int number, absl::string_view value, std::string& unknown_fields);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_FIELDS_H_
