#include "meshwright/service/utf8.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace meshwright {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Bytes of the character that `text` begins with; 0: it is none.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  size_t size = 0;
  uint32_t code = 0;
  uint32_t least = 0;  // Shorter forms are for what is below.
  if (first >= 0xC2 && first <= 0xDF) {
    size = 2, code = first & 0x1F, least = 0x80;
  } else if (first >= 0xE0 && first <= 0xEF) {
    size = 3, code = first & 0x0F, least = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    size = 4, code = first & 0x07, least = 0x10000;
  }
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least || code > 0x10FFFF || surrogate ? 0 : size;
}

void MakeField(const Reflection& reflection, const FieldDescriptor* field,
               Message& message) {
  if (field->is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      std::string scratch;
      const std::string& text =
          reflection.GetRepeatedStringReference(message, field, i, &scratch);
      if (IsUtf8(text)) continue;
      reflection.SetRepeatedString(&message, field, i, AsUtf8(text));
    }
    return;
  }
  std::string scratch;
  const std::string& text =
      reflection.GetStringReference(message, field, &scratch);
  if (!IsUtf8(text)) reflection.SetString(&message, field, AsUtf8(text));
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string AsUtf8(absl::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      result.push_back('?');
      text.remove_prefix(1);
    } else {
      result.append(text.data(), bytes);
      text.remove_prefix(bytes);
    }
  }
  return result;
}

void MakeUtf8(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      MakeField(reflection, field, message);
    } else if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    } else if (field->is_repeated()) {
      for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
        MakeUtf8(*reflection.MutableRepeatedMessage(&message, field, i));
      }
    } else {
      MakeUtf8(*reflection.MutableMessage(&message, field));
    }
  }
}

}  // namespace meshwright
