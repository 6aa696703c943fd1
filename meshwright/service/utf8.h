// Text in protobuf messages must be UTF-8. Otherwise a message with a `string`
// field is written, but cannot be read, which breaks the stream.
#ifndef MESHWRIGHT_SERVICE_UTF8_H_
#define MESHWRIGHT_SERVICE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace meshwright {

bool IsUtf8(absl::string_view text);
// Replaces each byte that is not part of a character by '?'.
std::string AsUtf8(absl::string_view text);
// The same for every `string` of a message.
void MakeUtf8(google::protobuf::Message& message);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_UTF8_H_
