#include "tests/rules/letter_kernel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Sizes = std::map<char, int64_t>;
using Positions = std::map<char, int64_t>;

absl::StatusOr<std::vector<TensorLetters>> ParseTensors(
    absl::string_view text) {
  std::vector<TensorLetters> tensors;
  for (const absl::string_view one : absl::StrSplit(text, ',')) {
    TensorLetters& tensor = tensors.emplace_back();
    bool inside = false;
    for (const char c : one) {
      if (c == '(' || c == ')') {
        inside = c == '(';
        if (inside) tensor.emplace_back();
      } else if (!absl::ascii_isalpha(c)) {
        return absl::InvalidArgumentError(absl::StrCat("no letters: ", text));
      } else if (inside) {
        tensor.back().push_back(c);
      } else {
        tensor.emplace_back(1, c);
      }
    }
  }
  return tensors;
}

std::string ToString(const std::vector<TensorLetters>& tensors) {
  return absl::StrJoin(tensors, ",", [](std::string* out, const auto& tensor) {
    for (const std::string& dim : tensor) {
      absl::StrAppend(out, dim.size() == 1 ? dim : "(" + dim + ")");
    }
  });
}

double Load(const FfiArray& array, int64_t index) {
  switch (array.type) {
    case ElementType::kF32:
      return array.As<float>()[index];
    case ElementType::kF64:
      return array.As<double>()[index];
    default:
      return array.As<int32_t>()[index];
  }
}

void Store(const FfiArray& array, int64_t index, double value) {
  switch (array.type) {
    case ElementType::kF32:
      array.As<float>()[index] = static_cast<float>(value);
      return;
    case ElementType::kF64:
      array.As<double>()[index] = value;
      return;
    default:
      array.As<int32_t>()[index] = static_cast<int32_t>(value);
  }
}

// An array and its letters.
struct Tensor {
  const FfiArray& array;
  const TensorLetters& letters;
  std::string layout;  // Digits of dimensions, minor first.

  bool Has(char letter) const {
    return std::ranges::any_of(letters, [&](const std::string& dim) {
      return dim.find(letter) != std::string::npos;
    });
  }

  int64_t IndexOf(const Positions& positions, const Sizes& sizes) const {
    int64_t index = 0;
    for (auto digit = layout.rbegin(); digit != layout.rend(); ++digit) {
      for (const char letter : letters[*digit - '0']) {
        index = index * sizes.at(letter) + positions.at(letter);
      }
    }
    return index;
  }
};

std::string RowMajor(size_t rank) {
  std::string layout;
  for (size_t i = rank; i > 0; --i) layout += static_cast<char>('0' + i - 1);
  return layout;
}

class LetterKernel {
 public:
  static absl::Status Run(const FfiCall& call) {
    LetterKernel kernel;
    MW_ASSIGN_OR_RETURN(const absl::string_view text,
                        call.StringAttribute("tensors"));
    MW_ASSIGN_OR_RETURN(kernel.reduction_, call.StringAttribute("reduction"));
    MW_ASSIGN_OR_RETURN(kernel.whole_, call.StringAttribute("whole"));
    MW_ASSIGN_OR_RETURN(kernel.apart_, call.StringAttribute("apart"));
    MW_ASSIGN_OR_RETURN(const absl::string_view layouts,
                        call.StringAttribute("layouts"));
    MW_ASSIGN_OR_RETURN(const KernelLetters letters, ParseLetters(text));
    MW_RETURN_IF_ERROR(
        Pair(call.operands(), letters.operands, kernel.operands_));
    MW_RETURN_IF_ERROR(Pair(call.results(), letters.results, kernel.results_));
    MW_RETURN_IF_ERROR(kernel.SetLayouts(layouts));
    MW_RETURN_IF_ERROR(kernel.FindSizes());
    for (size_t i = 0; i < kernel.results_.size(); ++i) {
      kernel.Fill(static_cast<int64_t>(i));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Pair(const std::vector<FfiArray>& arrays,
                           const std::vector<TensorLetters>& letters,
                           std::vector<Tensor>& tensors) {
    if (arrays.size() != letters.size()) {
      return absl::InvalidArgumentError("other tensors than letters");
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      tensors.push_back({arrays[i], letters[i], RowMajor(letters[i].size())});
      if (arrays[i].dimensions.size() != letters[i].size()) {
        return absl::InvalidArgumentError("other dimensions than letters");
      }
      if (arrays[i].type != ElementType::kF32 &&
          arrays[i].type != ElementType::kF64 &&
          arrays[i].type != ElementType::kS32) {
        return absl::UnimplementedError("of f32, f64 and s32 only");
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetLayouts(absl::string_view text) {
    const std::vector<std::string> layouts = absl::StrSplit(text, ',');
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i >= layouts.size() ||
          !std::ranges::is_permutation(layouts[i], operands_[i].layout)) {
        return absl::InvalidArgumentError("other layouts than operands");
      }
      operands_[i].layout = layouts[i];
    }
    return absl::OkStatus();
  }

  // From dimensions of one letter; then from those with one that is open.
  absl::Status FindSizes() {
    for (const size_t most : {size_t{1}, size_t{26}}) {
      for (const std::vector<Tensor>* tensors : {&operands_, &results_}) {
        for (const Tensor& tensor : *tensors) {
          MW_RETURN_IF_ERROR(FindSizes(tensor, most));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindSizes(const Tensor& tensor, size_t most) {
    for (size_t i = 0; i < tensor.letters.size(); ++i) {
      const std::string& dim = tensor.letters[i];
      if (dim.size() > most) continue;
      int64_t left = tensor.array.dimensions[i];
      char open = 0;
      for (const char letter : dim) {
        const auto known = sizes_.find(letter);
        if (known != sizes_.end() && left % known->second == 0) {
          left /= known->second;
        } else if (known == sizes_.end() && open == 0) {
          open = letter;
        } else {
          return absl::InvalidArgumentError(
              absl::StrCat("dimension (", dim, ") does not fit"));
        }
      }
      if (open != 0) sizes_[open] = left;
      if (open == 0 && left != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("dimension (", dim, ") is of another size"));
      }
    }
    return absl::OkStatus();
  }

  // The operands that result `number` depends on.
  std::vector<size_t> Read(const Tensor& result) const {
    std::vector<size_t> read;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (std::ranges::none_of(apart_, [&](char letter) {
            return operands_[i].Has(letter) && !result.Has(letter);
          })) {
        read.push_back(i);
      }
    }
    return read;
  }

  double Term(int64_t number, const std::vector<size_t>& read,
              const Positions& positions) const {
    double term = 1;
    for (const size_t i : read) {
      Positions own = positions;
      for (const char letter : whole_) {
        const auto found = own.find(letter);
        if (i != 0 || found == own.end()) continue;
        found->second = sizes_.at(letter) - 1 - found->second;
      }
      const double shift = static_cast<double>((2 * i + number) % 3);
      term *=
          Load(operands_[i].array, operands_[i].IndexOf(own, sizes_)) + shift;
    }
    for (const char letter : whole_) {
      const auto found = positions.find(letter);
      if (found != positions.end()) term += static_cast<double>(found->second);
    }
    // Products of other numbers would soon be infinite.
    if (reduction_ == "product") return std::fmod(term, 2) == 0 ? 1 : -1;
    return term;
  }

  double Joined(double a, double b) const {
    if (reduction_ == "max") return std::max(a, b);
    if (reduction_ == "min") return std::min(a, b);
    return reduction_ == "product" ? a * b : a + b;
  }

  void Fill(int64_t number) {
    const Tensor& result = results_[number];
    const std::vector<size_t> read = Read(result);
    Positions positions;
    for (const auto& [letter, size] : sizes_) {
      if (result.Has(letter) || !absl::StrContains(apart_, letter)) {
        positions[letter] = 0;
      }
    }
    std::vector<std::optional<double>> values(result.array.element_count());
    bool more = !values.empty();
    while (more) {
      std::optional<double>& value = values[result.IndexOf(positions, sizes_)];
      const double term = Term(number, read, positions);
      value = value.has_value() ? Joined(*value, term) : term;
      more = false;
      for (auto& [letter, position] : positions) {
        more = ++position < sizes_.at(letter);
        if (more) break;
        position = 0;
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      Store(result.array, static_cast<int64_t>(i), values[i].value_or(0));
    }
  }

  absl::string_view reduction_;
  absl::string_view whole_;
  absl::string_view apart_;
  std::vector<Tensor> operands_;
  std::vector<Tensor> results_;
  Sizes sizes_;
};

}  // namespace

absl::StatusOr<KernelLetters> ParseLetters(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits("->", 1));
  KernelLetters letters;
  MW_ASSIGN_OR_RETURN(letters.operands, ParseTensors(sides.first));
  MW_ASSIGN_OR_RETURN(letters.results, ParseTensors(sides.second));
  return letters;
}

std::string ToString(const KernelLetters& letters) {
  return absl::StrCat(ToString(letters.operands), "->",
                      ToString(letters.results));
}

absl::Status RunLetterKernel(const FfiCall& call) {
  return LetterKernel::Run(call);
}

}  // namespace meshwright
