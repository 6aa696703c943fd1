#include "meshwright/hlo/text_dimension_numbers.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright::internal {
namespace {

// "1_1x0_2" as {{1, 1}, {0, 2}}: per dimension, numbers joined by '_'.
using NumbersPerDimension = std::vector<std::vector<int64_t>>;

NumbersPerDimension ReadPerDimension(TextLexer& lexer) {
  const size_t start = lexer.position();
  const absl::string_view text = lexer.Run("-0123456789_x");
  NumbersPerDimension numbers;
  if (text.empty()) return numbers;
  for (const absl::string_view dimension : absl::StrSplit(text, 'x')) {
    std::vector<int64_t>& values = numbers.emplace_back();
    for (const absl::string_view word : absl::StrSplit(dimension, '_')) {
      if (!absl::SimpleAtoi(word, &values.emplace_back())) {
        lexer.FailAt(start, "expected numbers joined by '_' and 'x'");
        return {};
      }
    }
  }
  if (std::ssize(numbers) > kMaxRank)
    lexer.FailAt(start, "too many dimensions");
  return numbers;
}

// The fields for the first and second number of "stride=2x2" or "pad=1_1".
struct WindowField {
  absl::string_view name;
  int64_t WindowDimension::*first;
  int64_t WindowDimension::*second = nullptr;
};

constexpr WindowField kWindowFields[] = {
    {"size", &WindowDimension::size},
    {"stride", &WindowDimension::stride},
    {"pad", &WindowDimension::padding_low, &WindowDimension::padding_high},
    {"lhs_dilate", &WindowDimension::base_dilation},
    {"rhs_dilate", &WindowDimension::window_dilation},
};

// Sets one field of every dimension.
template <typename Set>
void ReadWindowField(TextLexer& lexer, size_t count, Window& window,
                     const Set& set) {
  const size_t start = lexer.position();
  const NumbersPerDimension numbers = ReadPerDimension(lexer);
  if (window.dimensions.empty()) window.dimensions.resize(numbers.size());
  if (numbers.size() != window.dimensions.size()) {
    lexer.FailAt(start, "the window's fields differ in their dimensions");
    return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].size() != count) {
      lexer.FailAt(start, absl::StrCat("expected ", count,
                                       " numbers per dimension, got ",
                                       numbers[i].size()));
      return;
    }
    set(numbers[i], window.dimensions[i]);
  }
}

void ReadWindowField(TextLexer& lexer, Window& window) {
  const size_t start = lexer.position();
  const absl::string_view name = lexer.Word("a field of a window");
  lexer.Expect("=");
  using Values = std::vector<int64_t>;
  if (name == "rhs_reversal") {
    return ReadWindowField(lexer, 1, window,
                           [](const Values& values, WindowDimension& dim) {
                             dim.window_reversal = values[0] != 0;
                           });
  }
  for (const WindowField& field : kWindowFields) {
    if (field.name != name) continue;
    return ReadWindowField(lexer, field.second == nullptr ? 1 : 2, window,
                           [&](const Values& values, WindowDimension& dim) {
                             dim.*field.first = values[0];
                             if (field.second == nullptr) return;
                             dim.*field.second = values[1];
                           });
  }
  lexer.FailAt(start, absl::StrCat("'", name, "' is no field of a window"));
}

// The positions of the letters of one operand: "b01f".
struct Labels {
  int64_t first = 0;
  int64_t second = 0;
  std::vector<int64_t> spatial;
};

bool ParseLabels(absl::string_view text, char first, char second,
                 Labels& labels) {
  bool has_first = false;
  bool has_second = false;
  for (size_t dim = 0; dim < text.size(); ++dim) {
    const char label = text[dim];
    const auto place = static_cast<int64_t>(dim);
    if (label == first) {
      if (std::exchange(has_first, true)) return false;
      labels.first = place;
    } else if (label == second) {
      if (std::exchange(has_second, true)) return false;
      labels.second = place;
    } else if (label >= '0' && label <= '9') {
      const auto index = static_cast<size_t>(label - '0');
      if (index >= labels.spatial.size()) labels.spatial.resize(index + 1, -1);
      if (std::exchange(labels.spatial[index], place) >= 0) return false;
    } else if (label != '?') {
      return false;
    }
  }
  for (const int64_t place : labels.spatial) {
    if (place < 0) return false;
  }
  return has_first && has_second;
}

}  // namespace

Window ReadWindow(TextLexer& lexer) {
  Window window;
  lexer.Expect("{");
  while (lexer.ok() && !lexer.NextIs("}")) ReadWindowField(lexer, window);
  lexer.Expect("}");
  return window;
}

ConvolutionDimensionNumbers ReadDimLabels(TextLexer& lexer) {
  const size_t start = lexer.position();
  const absl::string_view lhs = lexer.Run("0123456789bf?");
  lexer.Expect("_");
  const absl::string_view rhs = lexer.Run("0123456789io?");
  lexer.Expect("->");
  const absl::string_view out = lexer.Run("0123456789bf?");
  Labels input, kernel, output;
  if (!ParseLabels(lhs, 'b', 'f', input) ||
      !ParseLabels(rhs, 'i', 'o', kernel) ||
      !ParseLabels(out, 'b', 'f', output) ||
      input.spatial.size() != kernel.spatial.size() ||
      input.spatial.size() != output.spatial.size()) {
    lexer.FailAt(start, "expected labels as in b01f_01io->b01f");
  }
  return {.input_batch = input.first,
          .input_feature = input.second,
          .input_spatial = std::move(input.spatial),
          .kernel_input_feature = kernel.first,
          .kernel_output_feature = kernel.second,
          .kernel_spatial = std::move(kernel.spatial),
          .output_batch = output.first,
          .output_feature = output.second,
          .output_spatial = std::move(output.spatial),
          .unknown_fields = {}};
}

PaddingConfig ReadPadding(TextLexer& lexer) {
  const size_t start = lexer.position();
  PaddingConfig padding;
  for (const std::vector<int64_t>& values : ReadPerDimension(lexer)) {
    if (values.size() != 2 && values.size() != 3) {
      lexer.FailAt(start, "expected LOW_HIGH or LOW_HIGH_INTERIOR");
      break;
    }
    PaddingDimension& dim = padding.dimensions.emplace_back();
    dim.edge_low = values[0];
    dim.edge_high = values[1];
    if (values.size() == 3) dim.interior = values[2];
  }
  return padding;
}

std::vector<SliceDimension> ReadSlice(TextLexer& lexer) {
  std::vector<SliceDimension> slice;
  lexer.List("{", "}", [&] {
    SliceDimension& dim = slice.emplace_back();
    lexer.Expect("[");
    dim.start = lexer.Integer();
    lexer.Expect(":");
    dim.limit = lexer.Integer();
    if (lexer.Take(":")) dim.stride = lexer.Integer();
    lexer.Expect("]");
  });
  return slice;
}

std::vector<SourceTarget> ReadSourceTargets(TextLexer& lexer) {
  std::vector<SourceTarget> pairs;
  lexer.List("{", "}", [&] {
    SourceTarget& pair = pairs.emplace_back();
    lexer.Expect("{");
    pair.source = lexer.Integer();
    lexer.Expect(",");
    pair.target = lexer.Integer();
    lexer.Expect("}");
  });
  return pairs;
}

std::vector<OutputOperandAliasing> ReadOperandAliasing(TextLexer& lexer) {
  std::vector<OutputOperandAliasing> aliases;
  lexer.List("{", "}", [&] {
    OutputOperandAliasing& alias = aliases.emplace_back();
    alias.output_shape_index = lexer.Integers();
    lexer.Expect(":");
    lexer.Expect("(");
    alias.operand_index = lexer.Integer();
    lexer.Expect(",");
    alias.operand_shape_index = lexer.Integers();
    lexer.Expect(")");
  });
  return aliases;
}

}  // namespace meshwright::internal
