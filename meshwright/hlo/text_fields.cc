#include "meshwright/hlo/text_fields.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace meshwright::internal {
namespace {

// Wire types of protobuf.
constexpr int kVarint = 0;
constexpr int kLengthDelimited = 2;

uint32_t Tag(int number, int wire_type) {
  return static_cast<uint32_t>(number << 3 | wire_type);
}

}  // namespace

void AddField(int number, int64_t value, std::string& unknown_fields) {
  if (value == 0) return;
  google::protobuf::io::StringOutputStream stream(&unknown_fields);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(Tag(number, kVarint));
  coded.WriteVarint64(static_cast<uint64_t>(value));
}

void AddField(int number, absl::string_view value,
              std::string& unknown_fields) {
  google::protobuf::io::StringOutputStream stream(&unknown_fields);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(Tag(number, kLengthDelimited));
  coded.WriteVarint64(value.size());
  coded.WriteRaw(value.data(), static_cast<int>(value.size()));
}

}  // namespace meshwright::internal
