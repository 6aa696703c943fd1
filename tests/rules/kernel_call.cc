#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "meshwright/rules/rule_text.h"
#include "tests/rules/random_kernel.h"

namespace meshwright {
namespace {

std::string Names(const RandomKernel& kernel, const std::string& letters,
                  absl::string_view between) {
  return absl::StrJoin(letters, between, [&](std::string* out, char letter) {
    absl::StrAppend(out, kernel.prefix, std::string(1, letter));
  });
}

std::string PlainTensors(const RandomKernel& kernel,
                         const std::vector<TensorLetters>& tensors) {
  return absl::StrJoin(tensors, ", ", [&](std::string* out, const auto& dims) {
    size_t first = 0;
    if (!kernel.leading.empty()) {
      absl::StrAppend(out, "... ");
      first = kernel.leading.size();
    }
    for (size_t i = first; i < dims.size(); ++i) {
      const std::string names = Names(kernel, dims[i], " ");
      absl::StrAppend(out, dims[i].size() == 1 ? names : "(" + names + ")",
                      " ");
    }
  });
}

std::string PlainText(const RandomKernel& kernel) {
  std::vector<std::string> words;
  if (!kernel.reduced.empty()) {
    const bool is_sum = kernel.reduction == "sum";
    words.push_back(absl::StrCat("reduction",
                                 is_sum ? "" : " " + kernel.reduction, ": ",
                                 Names(kernel, kernel.reduced, " ")));
  }
  if (!kernel.whole.empty()) {
    words.push_back(
        absl::StrCat("need_replication: ", Names(kernel, kernel.whole, " ")));
  }
  for (const char letter : kernel.said) {
    words.push_back(absl::StrCat(kernel.prefix, std::string(1, letter), "=",
                                 kernel.sizes.at(letter)));
  }
  std::string text =
      absl::StrCat(PlainTensors(kernel, kernel.letters.operands), "-> ",
                   PlainTensors(kernel, kernel.letters.results));
  if (!words.empty()) {
    absl::StrAppend(&text, "{", absl::StrJoin(words, "; "), "}");
  }
  return text;
}

std::string ShardyTensors(const std::vector<TensorLetters>& tensors) {
  const auto tensor = [](std::string* out, const TensorLetters& dims) {
    absl::StrAppend(out, "[", absl::StrJoin(dims, ", "), "]");
  };
  return absl::StrCat("(", absl::StrJoin(tensors, ", ", tensor), ")");
}

std::string ShardyText(const RandomKernel& kernel) {
  std::string whole;
  for (const char letter : kernel.whole) {
    if (!absl::StrContains(kernel.left_open, letter)) whole += letter;
  }
  std::string text = absl::StrCat(
      "#sdy.op_sharding_rule<", ShardyTensors(kernel.letters.operands), "->",
      ShardyTensors(kernel.letters.results), " {",
      absl::StrJoin(kernel.sizes, ", ",
                    [](std::string* out, const auto& size) {
                      absl::StrAppend(out, std::string(1, size.first), "=",
                                      size.second);
                    }),
      "}");
  if (!kernel.reduced.empty()) {
    absl::StrAppend(&text, " reduction={", Names(kernel, kernel.reduced, ", "),
                    "}");
  }
  if (!whole.empty()) {
    absl::StrAppend(&text, " need_replication={", Names(kernel, whole, ", "),
                    "}");
  }
  return absl::StrCat(text, ", custom>");
}

std::vector<std::string> ShapeTexts(const RandomKernel& kernel,
                                    const std::vector<TensorLetters>& tensors,
                                    const std::vector<ElementType>& types) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> dimensions;
    for (const std::string& dim : tensors[i]) {
      dimensions.push_back(1);
      for (const char letter : dim) {
        dimensions.back() *= kernel.sizes.at(letter);
      }
    }
    texts.push_back(ShapeText(types[i], dimensions));
  }
  return texts;
}

std::string LayoutText(const RandomKernel& kernel) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < kernel.letters.operands.size(); ++i) {
    std::string& text = texts.emplace_back();
    for (size_t j = kernel.letters.operands[i].size(); j > 0; --j) {
      absl::StrAppend(&text, j - 1);
    }
    if (!kernel.layouts.empty()) text = absl::StrJoin(kernel.layouts[i], "");
  }
  return absl::StrJoin(texts, ",");
}

}  // namespace

std::string RuleText(const RandomKernel& kernel) {
  return kernel.shardy ? ShardyText(kernel) : PlainText(kernel);
}

OneOp CallOf(const RandomKernel& kernel) {
  // What is in results only is whole as well.
  std::set<char> read;
  for (const TensorLetters& tensor : kernel.letters.operands) {
    for (const std::string& dim : tensor) read.insert(dim.begin(), dim.end());
  }
  std::string whole = kernel.whole;
  for (const auto& [letter, size] : kernel.sizes) {
    if (!read.contains(letter)) whole.push_back(letter);
  }
  const std::string config = absl::StrCat(
      "{tensors = \"", ToString(kernel.letters), "\", reduction = \"",
      kernel.reduction, "\", whole = \"", whole, "\", apart = \"", kernel.apart,
      "\", layouts = \"", LayoutText(kernel), "\"}");
  const std::vector<std::string> operands =
      ShapeTexts(kernel, kernel.letters.operands, kernel.operand_types);
  const std::vector<std::string> results =
      ShapeTexts(kernel, kernel.letters.results, kernel.result_types);
  const auto layouts = kernel.layouts;
  OneOp op{.opcode = Opcode::kCustomCall,
           .operands = operands,
           .set =
               [=](Attributes& attributes) {
                 attributes.custom_call_target = kLetterKernel;
                 attributes.custom_call_api_version = 4;
                 attributes.backend_config = config;
                 attributes.constrain_layout = !layouts.empty();
                 for (size_t i = 0; i < layouts.size(); ++i) {
                   attributes.operand_shapes_with_layout.push_back(
                       ParseShape(operands[i]));
                   attributes.operand_shapes_with_layout[i].layout = {
                       .minor_to_major = layouts[i]};
                 }
               },
           .frontend_attributes = {{kRuleAttributes[kernel.shardy ? 1 : 0],
                                    RuleText(kernel)}},
           .result = results.size() == 1
                         ? results[0]
                         : absl::StrCat("(", absl::StrJoin(results, ", "), ")"),
           .exact_sums = true};
  for (size_t i = 0; i < op.operands.size(); ++i) {
    op.draws[static_cast<int32_t>(i)] = Integers(-2, 2);
  }
  return op;
}

}  // namespace meshwright
