#include "meshwright/state/npy.h"

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxNpyHeaderBytes = 1 << 20;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses the one form of Python dictionary that NumPy writes.
class HeaderParser {
 public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<Header> Parse() {
    Header header;
    int keys = 0;
    MW_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      MW_ASSIGN_OR_RETURN(const std::string key, String());
      MW_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr") {
        MW_ASSIGN_OR_RETURN(header.descr, String());
      } else if (key == "fortran_order") {
        MW_ASSIGN_OR_RETURN(header.fortran_order, Bool());
      } else if (key == "shape") {
        MW_ASSIGN_OR_RETURN(header.shape, Tuple());
      } else {
        return Bad("the header has an unknown key");
      }
      ++keys;
      if (!Take(',') && Peek() != '}') return Bad("the header is damaged");
    }
    if (keys != 3) return Bad("the header lacks a key");
    return header;
  }

 private:
  char Peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) {
      text_.remove_prefix(1);
    }
    return text_.empty() ? '\0' : text_[0];
  }

  bool Take(char c) {
    if (Peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }

  absl::Status Expect(char c) {
    if (Take(c)) return absl::OkStatus();
    return Bad("the header is damaged");
  }

  absl::StatusOr<std::string> String() {
    const char quote = Peek();
    if (quote == '[') return Bad("structured arrays are not supported");
    if (quote != '\'' && quote != '"') return Bad("the header is damaged");
    const size_t end = text_.find(quote, 1);
    if (end == absl::string_view::npos) return Bad("the header is damaged");
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }

  absl::StatusOr<bool> Bool() {
    Peek();
    if (absl::ConsumePrefix(&text_, "True")) return true;
    if (absl::ConsumePrefix(&text_, "False")) return false;
    return Bad("the header is damaged");
  }

  absl::StatusOr<std::vector<int64_t>> Tuple() {
    std::vector<int64_t> values;
    MW_RETURN_IF_ERROR(Expect('('));
    while (!Take(')')) {
      Peek();
      size_t digits = 0;
      while (digits < text_.size() && absl::ascii_isdigit(text_[digits])) {
        ++digits;
      }
      int64_t value = 0;
      if (!absl::SimpleAtoi(text_.substr(0, digits), &value)) {
        return Bad("the header's shape is damaged");
      }
      text_.remove_prefix(digits);
      absl::ConsumePrefix(&text_, "L");  // Python 2.
      values.push_back(value);
      if (!Take(',') && Peek() != ')') return Bad("the header is damaged");
    }
    return values;
  }

  absl::string_view text_;
};

struct DataType {
  ElementType type = ElementType::kInvalid;
  int64_t bytes = 0;  // Size of one element.
  bool big_endian = false;
};

ElementType TypeOf(char kind, int64_t bytes) {
  struct Row {
    char kind;
    int64_t bytes;
    ElementType type;
  };
  static constexpr Row kRows[] = {
      {'b', 1, ElementType::kPred},
      {'i', 1, ElementType::kS8},
      {'i', 2, ElementType::kS16},
      {'i', 4, ElementType::kS32},
      {'i', 8, ElementType::kS64},
      {'u', 1, ElementType::kU8},
      {'u', 2, ElementType::kU16},
      {'u', 4, ElementType::kU32},
      {'u', 8, ElementType::kU64},
      {'f', 2, ElementType::kF16},
      {'f', 4, ElementType::kF32},
      {'f', 8, ElementType::kF64},
      {'c', 8, ElementType::kC64},
      {'c', 16, ElementType::kC128},
      // As ml_dtypes writes bfloat16 and float8_e5m2.
      {'V', 2, ElementType::kBF16},
      {'f', 1, ElementType::kF8E5M2},
  };
  for (const Row& row : kRows) {
    if (row.kind == kind && row.bytes == bytes) return row.type;
  }
  return ElementType::kInvalid;
}

absl::StatusOr<DataType> ParseDescr(absl::string_view descr) {
  const std::string shown = absl::Utf8SafeCHexEscape(descr.substr(0, 40));
  absl::string_view rest = descr;
  DataType result;
  if (!rest.empty() && absl::StrContains("<>|=", rest.substr(0, 1))) {
    result.big_endian = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest.empty() || !absl::SimpleAtoi(rest.substr(1), &result.bytes)) {
    return Bad(absl::StrCat("dtype '", shown, "' is not supported"));
  }
  if (rest[0] == 'O') return Bad("holds Python objects");
  result.type = TypeOf(rest[0], result.bytes);
  const bool raw = rest[0] == 'V' && result.bytes == 1;
  if (result.type == ElementType::kInvalid && !raw) {
    return Bad(absl::StrCat("dtype '", shown, "' is not supported"));
  }
  return result;
}

void SwapBytes(std::string& data, int64_t unit) {
  for (size_t i = 0; i + unit <= data.size(); i += unit) {
    std::reverse(data.begin() + i, data.begin() + i + unit);
  }
}

// Column-major to row-major.
std::string Transposed(const std::string& data,
                       const std::vector<int64_t>& dimensions, int64_t bytes) {
  std::string result(data.size(), '\0');
  // Strides of the column-major array, in elements.
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (int64_t dimension : dimensions) {
    strides.push_back(stride);
    stride *= dimension;
  }
  std::vector<int64_t> index(dimensions.size());
  int64_t from = 0;
  for (size_t to = 0; to < result.size(); to += bytes) {
    std::copy_n(data.data() + from * bytes, bytes, result.data() + to);
    for (size_t d = dimensions.size(); d-- > 0;) {
      from += strides[d];
      if (++index[d] < dimensions[d]) break;
      from -= strides[d] * dimensions[d];
      index[d] = 0;
    }
  }
  return result;
}

absl::StatusOr<Header> ReadHeader(int64_t file_bytes, ReadBytes read,
                                  int64_t& header_bytes) {
  unsigned char start[12] = {};
  header_bytes = 10;
  if (file_bytes < header_bytes) return Bad("is cut short");
  MW_RETURN_IF_ERROR(read(reinterpret_cast<char*>(start), 10));
  if (!absl::StartsWith(
          absl::string_view(reinterpret_cast<const char*>(start), 10),
          "\x93NUMPY")) {
    return Bad("is not a NumPy array");
  }
  int64_t length = start[8] | start[9] << 8;
  if (start[6] < 1 || start[6] > 3) {
    return Bad(absl::StrCat("has npy version ", int{start[6]}));
  }
  if (start[6] >= 2) {
    header_bytes = 12;
    if (file_bytes < header_bytes) return Bad("is cut short");
    MW_RETURN_IF_ERROR(read(reinterpret_cast<char*>(start) + 10, 2));
    length |= int64_t{start[10]} << 16 | int64_t{start[11]} << 24;
  }
  header_bytes += length;
  if (file_bytes < header_bytes) return Bad("is cut short");
  if (length > kMaxNpyHeaderBytes) return Bad("has a header above 1 MiB");
  std::string text(length, '\0');
  MW_RETURN_IF_ERROR(read(text.data(), text.size()));
  return HeaderParser(text).Parse();
}

absl::Status Fill(const NpyHeader& header, ReadBytes read, Tensor& tensor) {
  MW_RETURN_IF_ERROR(read(tensor.data.data(), tensor.data.size()));
  const int64_t unit = header.element_bytes;
  if (header.big_endian && unit > 1) {
    SwapBytes(tensor.data, IsComplex(header.type) ? unit / 2 : unit);
  }
  if (header.type == ElementType::kPred) {
    for (char& value : tensor.data) value = value != 0;
  }
  if (header.fortran_order && header.dimensions.size() > 1) {
    tensor.data = Transposed(tensor.data, header.dimensions, unit);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NpyHeader> ReadNpyHeader(int64_t file_bytes, ReadBytes read) {
  NpyHeader result;
  MW_ASSIGN_OR_RETURN(const Header header,
                      ReadHeader(file_bytes, read, result.bytes));
  MW_ASSIGN_OR_RETURN(const DataType type, ParseDescr(header.descr));
  const std::optional<int64_t> bytes = CheckedBytes(header.shape, type.bytes);
  if (!bytes) return Bad("its shape overflows");
  if (*bytes != file_bytes - result.bytes) {
    return Bad(absl::StrCat("its shape needs ", *bytes, " bytes, there are ",
                            file_bytes - result.bytes));
  }
  result.type = type.type;
  result.element_bytes = type.bytes;
  result.big_endian = type.big_endian;
  result.fortran_order = header.fortran_order;
  result.dimensions = header.shape;
  return result;
}

absl::StatusOr<Tensor> ReadNpy(int64_t file_bytes, ReadBytes read) {
  MW_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(file_bytes, read));
  Tensor tensor;
  tensor.type = header.type;
  tensor.dimensions = header.dimensions;
  if (header.type == ElementType::kInvalid) {
    tensor.raw_bytes = header.element_bytes;
  }
  try {
    tensor.data.resize(file_bytes - header.bytes);
    MW_RETURN_IF_ERROR(Fill(header, read, tensor));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("does not fit in memory");
  }
  return tensor;
}

}  // namespace meshwright
