#include "meshwright/base/json_fault.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace meshwright {
namespace {

using Json = nlohmann::json;

// Reads without keeping anything but the place of the first fault.
struct FaultFinder {
  size_t position = 0;  // After the last byte that was read.

  static bool null() { return true; }
  static bool boolean(bool) { return true; }
  static bool number_integer(Json::number_integer_t) { return true; }
  static bool number_unsigned(Json::number_unsigned_t) { return true; }
  static bool number_float(Json::number_float_t, const std::string&) {
    return true;
  }
  static bool string(std::string&) { return true; }
  static bool binary(Json::binary_t&) { return true; }
  static bool start_object(size_t) { return true; }
  static bool key(std::string&) { return true; }
  static bool end_object() { return true; }
  static bool start_array(size_t) { return true; }
  static bool end_array() { return true; }
  bool parse_error(size_t at, const std::string&, const Json::exception&) {
    position = at;
    return false;
  }
};

std::string Named(char one) {
  if (one == '\n') return "the line ends";
  if (absl::ascii_isgraph(static_cast<unsigned char>(one))) {
    return absl::StrCat("'", std::string(1, one), "'");
  }
  return absl::StrFormat("byte 0x%02x", static_cast<unsigned char>(one));
}

}  // namespace

std::string NotJson(absl::string_view text) {
  FaultFinder fault;
  Json::sax_parse(text.begin(), text.end(), &fault);
  if (fault.position == 0 || fault.position > text.size()) {
    return "is not valid JSON: it ends too early";
  }
  const size_t at = fault.position - 1;
  const absl::string_view before = text.substr(0, at);
  const size_t line_end = before.rfind('\n');
  const size_t line_start =
      line_end == absl::string_view::npos ? 0 : line_end + 1;
  return absl::StrCat("is not valid JSON from line ",
                      1 + std::count(before.begin(), before.end(), '\n'),
                      ", column ", at - line_start + 1, ": ", Named(text[at]));
}

}  // namespace meshwright
