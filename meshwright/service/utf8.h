// Text as protobuf wants it. A message with anything else in a `string` is
// written, but not read: the stream it goes through breaks.
#ifndef MESHWRIGHT_SERVICE_UTF8_H_
#define MESHWRIGHT_SERVICE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace meshwright {

bool IsUtf8(absl::string_view text);
// With '?' for each byte that is not part of a character.
std::string AsUtf8(absl::string_view text);
// Does that to every `string` of a message.
void MakeUtf8(google::protobuf::Message& message);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_UTF8_H_
