#include "tests/fuzz/wire_mutator.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

using Random = std::mt19937_64;

uint64_t Below(Random* random, uint64_t limit) {
  return limit == 0 ? 0 : (*random)() % limit;
}

void PutVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

std::optional<uint64_t> TakeVarint(const std::string& bytes, size_t* at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && *at < bytes.size(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// A field's extent in its message: the tag in [begin, tag_end), then perhaps a
// length, then the value in [value, end).
struct Field {
  size_t begin = 0;
  size_t tag_end = 0;
  size_t value = 0;
  size_t end = 0;
  uint64_t tag = 0;

  uint64_t wire_type() const { return tag & 7; }
};

// The fields of a message, or nullopt when the bytes are none.
std::optional<std::vector<Field>> Fields(const std::string& bytes) {
  std::vector<Field> fields;
  size_t at = 0;
  while (at < bytes.size()) {
    Field field;
    field.begin = at;
    const auto tag = TakeVarint(bytes, &at);
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    field.tag = *tag;
    field.tag_end = at;
    field.value = at;
    uint64_t length = 0;
    switch (field.wire_type()) {
      case 0:
        if (!TakeVarint(bytes, &at)) return std::nullopt;
        break;
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        const auto size = TakeVarint(bytes, &at);
        if (!size) return std::nullopt;
        field.value = at;
        length = *size;
        break;
      }
      default:
        return std::nullopt;
    }
    if (length > bytes.size() - at) return std::nullopt;
    at += length;
    field.end = at;
    fields.push_back(field);
  }
  return fields;
}

uint64_t InterestingNumber(Random* random) {
  static constexpr int64_t kNumbers[] = {0,
                                         1,
                                         2,
                                         3,
                                         7,
                                         8,
                                         16,
                                         255,
                                         -1,
                                         -2,
                                         100,
                                         1000,
                                         65536,
                                         INT32_MAX,
                                         INT32_MIN,
                                         INT64_MAX,
                                         INT64_MIN,
                                         INT64_MAX - 1,
                                         int64_t{1} << 31,
                                         int64_t{1} << 32,
                                         int64_t{1} << 40,
                                         int64_t{1} << 62};
  if (Below(random, 2) == 0) return Below(random, 40);
  return static_cast<uint64_t>(kNumbers[Below(random, std::size(kNumbers))]);
}

std::string PackedNumbers(const std::string& bytes, Random* random) {
  std::vector<uint64_t> values;
  size_t at = 0;
  while (at < bytes.size()) {
    const auto value = TakeVarint(bytes, &at);
    if (!value) return MutateBytes(bytes, random);
    values.push_back(*value);
  }
  switch (Below(random, 4)) {
    case 0:
      values.push_back(InterestingNumber(random));
      break;
    case 1:
      if (!values.empty()) values.pop_back();
      break;
    case 2:
      if (values.size() > 1) {
        std::swap(values[0], values[Below(random, values.size())]);
      }
      break;
    default:
      if (!values.empty()) {
        values[Below(random, values.size())] = InterestingNumber(random);
      }
  }
  std::string out;
  for (const uint64_t value : values) PutVarint(value, &out);
  return out;
}

// A new encoding of one field's value, without its tag.
std::string NewValue(const std::string& value, uint64_t wire_type,
                     Random* random) {
  std::string out;
  if (wire_type == 0) {
    PutVarint(InterestingNumber(random), &out);
    return out;
  }
  if (wire_type != 2) return MutateBytes(value, random).substr(0, value.size());
  const auto nested = Fields(value);
  std::string content;
  if (nested && !nested->empty() && Below(random, 12) != 0) {
    content = MutateWire(value, random);
  } else {
    content = Below(random, 2) == 0 ? PackedNumbers(value, random)
                                    : MutateBytes(value, random);
  }
  PutVarint(content.size(), &out);
  return out + content;
}

}  // namespace

std::string MutateWire(const std::string& bytes, Random* random) {
  const auto fields = Fields(bytes);
  if (!fields || fields->empty()) return MutateBytes(bytes, random);
  const Field& field = (*fields)[Below(random, fields->size())];
  const std::string before = bytes.substr(0, field.begin);
  const std::string whole = bytes.substr(field.begin, field.end - field.begin);
  const std::string after = bytes.substr(field.end);
  switch (Below(random, 48)) {
    case 0:  // Gone.
      return before + after;
    case 1:  // Twice.
      return before + whole + whole + after;
    case 2: {  // Moved before another field.
      const Field& other = (*fields)[Below(random, fields->size())];
      if (other.begin >= field.begin) return before + after + whole;
      return bytes.substr(0, other.begin) + whole +
             bytes.substr(other.begin, field.begin - other.begin) + after;
    }
    case 3: {  // Under another number.
      std::string tag;
      PutVarint(((1 + Below(random, 100)) << 3) | field.wire_type(), &tag);
      return before + tag +
             bytes.substr(field.tag_end, field.end - field.tag_end) + after;
    }
    case 4: {  // With a neighbour's contents.
      const Field& other = (*fields)[Below(random, fields->size())];
      return before + bytes.substr(other.begin, other.end - other.begin) +
             after;
    }
    default:
      break;
  }
  std::string tag;
  PutVarint(field.tag, &tag);
  return before + tag +
         NewValue(bytes.substr(field.value, field.end - field.value),
                  field.wire_type(), random) +
         after;
}

std::string MutateBytes(const std::string& bytes, Random* random) {
  std::string out = bytes;
  const size_t at = Below(random, out.size() + 1);
  switch (Below(random, 6)) {
    case 0:
      out.resize(at);
      break;
    case 1:
      out.insert(at, 1 + Below(random, 8),
                 static_cast<char>(Below(random, 256)));
      break;
    case 2:
      out.erase(at, 1 + Below(random, 16));
      break;
    case 3:
      out.insert(at, out.substr(Below(random, out.size() + 1), 64));
      break;
    default:
      for (uint64_t i = 0; i <= Below(random, 4) && !out.empty(); ++i) {
        out[Below(random, out.size())] = static_cast<char>(Below(random, 256));
      }
  }
  return out;
}

}  // namespace meshwright
