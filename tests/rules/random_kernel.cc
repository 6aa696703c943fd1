#include "tests/rules/random_kernel.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/check.h"
#include "meshwright/rules/rule_text.h"
#include "tests/rules/random_shapes.h"

namespace meshwright {
namespace {

constexpr int64_t kMostPoints = 1 << 13;  // Of all letters together.

class Drawing {
 public:
  explicit Drawing(Random& random) : random_(random) {}

  RandomKernel Draw() {
    kernel_.shardy = OneIn(3);
    if (OneIn(2)) kernel_.prefix = "dim_";
    if (kernel_.shardy) kernel_.prefix.clear();
    operands_.resize(1 + RandomBelow(random_, 3));
    results_.resize(1 + RandomBelow(random_, 3));
    const int64_t count = 2 + RandomBelow(random_, 4);
    for (int64_t i = 0; i < count; ++i) Place(static_cast<char>('a' + i));
    DrawReduction();
    DrawSizes();
    kernel_.letters = {Arranged(operands_), Arranged(results_)};
    SeparateOpen();
    for (size_t i = 0; i < operands_.size(); ++i) {
      kernel_.operand_types.push_back(DrawType());
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      kernel_.result_types.push_back(DrawType());
    }
    return kernel_;
  }

 private:
  bool OneIn(int64_t count) { return RandomBelow(random_, count) == 0; }

  ElementType DrawType() {
    constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kF64,
                                      ElementType::kS32};
    return kTypes[RandomBelow(random_, 3)];
  }

  // Some of the tensors, at least one; not all, if there are so many.
  void PutIntoSome(char letter, std::vector<std::string>& tensors,
                   bool not_all = false) {
    const int64_t count = static_cast<int64_t>(tensors.size());
    const int64_t most = not_all && count > 1 ? count - 1 : count;
    const int64_t taken = 1 + RandomBelow(random_, most);
    const std::vector<int64_t> order = RandomOrder(random_, count);
    for (int64_t i = 0; i < taken; ++i) tensors[order[i]].push_back(letter);
  }
  void PutIntoAll(char letter, std::vector<std::string>& tensors) {
    for (std::string& tensor : tensors) tensor.push_back(letter);
  }

  // Decides what a letter is, and which tensors have it.
  void Place(char letter) {
    const int64_t what = RandomBelow(random_, 16);
    if (what == 0) {  // In results only.
      PutIntoSome(letter, results_);
      return;
    }
    if (what < 3) {
      PutIntoAll(letter, operands_);
      PutIntoAll(letter, results_);
      kernel_.leading.push_back(letter);
      return;
    }
    PutIntoSome(letter, operands_);
    if (what < 8) {
      PutIntoAll(letter, results_);
    } else if (what < 11) {
      kernel_.reduced.push_back(letter);
    } else if (what < 13 && results_.size() > 1) {  // In some results.
      PutIntoSome(letter, results_, /*not_all=*/true);
      (kernel_.shardy && OneIn(2) ? kernel_.apart : kernel_.reduced)
          .push_back(letter);
    } else {
      kernel_.whole.push_back(letter);
      if (OneIn(3)) {
        // Shardy takes what no result has as whole.
        if (kernel_.shardy && OneIn(2)) kernel_.left_open.push_back(letter);
      } else {
        PutIntoSome(letter, results_);
      }
    }
  }

  void DrawReduction() {
    kernel_.reduction = "sum";
    if (kernel_.shardy || kernel_.reduced.empty() || OneIn(2)) return;
    constexpr const char* kReductions[] = {"max", "min", "product"};
    kernel_.reduction = kReductions[RandomBelow(random_, 3)];
  }

  void DrawSizes() {
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 4, 5, 6, 6, 8, 12};
    int64_t points = 0;
    do {
      points = 1;
      for (const auto* tensors : {&operands_, &results_}) {
        for (const std::string& tensor : *tensors) {
          for (const char letter : tensor) {
            kernel_.sizes[letter] = kSizes[RandomBelow(random_, 10)];
          }
        }
      }
      for (const auto& [letter, size] : kernel_.sizes) points *= size;
    } while (points > kMostPoints);
    for (const auto& [letter, size] : kernel_.sizes) {
      const bool leads = kernel_.leading.find(letter) != std::string::npos;
      if (kernel_.shardy || (!leads && OneIn(4))) {
        kernel_.said.push_back(letter);
      }
    }
  }

  // Letters in random order, the leading ones first, some of them together.
  std::vector<TensorLetters> Arranged(const std::vector<std::string>& tensors) {
    std::vector<TensorLetters> arranged;
    for (const std::string& tensor : tensors) {
      TensorLetters& dims = arranged.emplace_back();
      for (const char letter : kernel_.leading) dims.emplace_back(1, letter);
      std::string rest;
      for (const char letter : tensor) {
        if (kernel_.leading.find(letter) == std::string::npos) {
          rest.push_back(letter);
        }
      }
      std::shuffle(rest.begin(), rest.end(), random_);
      for (size_t i = 0; i < rest.size(); ++i) {
        if (i > 0 && OneIn(4)) {
          dims.back().push_back(rest[i]);
        } else {
          dims.emplace_back(1, rest[i]);
        }
      }
    }
    return arranged;
  }

  // Takes dimensions apart of whose letters more than one is nowhere alone: the
  // kernel would not know how large they are.
  void SeparateOpen() {
    std::set<char> alone;
    KernelLetters& letters = kernel_.letters;
    for (const auto* tensors : {&letters.operands, &letters.results}) {
      for (const TensorLetters& tensor : *tensors) {
        for (const std::string& dim : tensor) {
          if (dim.size() == 1) alone.insert(dim[0]);
        }
      }
    }
    for (auto* tensors : {&letters.operands, &letters.results}) {
      for (TensorLetters& tensor : *tensors) {
        TensorLetters separate;
        for (const std::string& dim : tensor) {
          const auto open = std::ranges::count_if(
              dim, [&](char letter) { return !alone.contains(letter); });
          if (open <= 1) {
            separate.push_back(dim);
          } else {
            for (const char letter : dim) separate.emplace_back(1, letter);
          }
        }
        tensor = std::move(separate);
      }
    }
  }

  Random& random_;
  RandomKernel kernel_;
  std::vector<std::string> operands_;  // Letters by tensor.
  std::vector<std::string> results_;
};

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
    if (kernel.left_open.find(letter) == std::string::npos) whole += letter;
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

}  // namespace

RandomKernel DrawKernel(Random& random) { return Drawing(random).Draw(); }

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
  const std::string config =
      absl::StrCat("{tensors = \"", ToString(kernel.letters),
                   "\", reduction = \"", kernel.reduction, "\", whole = \"",
                   whole, "\", apart = \"", kernel.apart, "\"}");
  const std::vector<std::string> results =
      ShapeTexts(kernel, kernel.letters.results, kernel.result_types);
  OneOp op{.opcode = Opcode::kCustomCall,
           .operands = ShapeTexts(kernel, kernel.letters.operands,
                                  kernel.operand_types),
           .set =
               [config](Attributes& attributes) {
                 attributes.custom_call_target = kLetterKernel;
                 attributes.custom_call_api_version = 4;
                 attributes.backend_config = config;
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

std::string RandomMesh(Random& random) {
  constexpr int64_t kSizes[] = {2, 2, 2, 3, 4, 5, 8};
  std::vector<std::string> axes;
  int64_t devices = 1;
  const int64_t count = 1 + RandomBelow(random, 3);
  while (static_cast<int64_t>(axes.size()) < count && devices <= 4) {
    const int64_t size = kSizes[RandomBelow(random, std::size(kSizes))];
    if (devices * size > 8) continue;
    const std::string name(1, static_cast<char>('x' + axes.size()));
    axes.push_back(absl::StrCat(name, "=", size));
    devices *= size;
  }
  return absl::StrJoin(axes, ",");
}

}  // namespace meshwright
