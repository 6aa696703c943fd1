#include "tests/rules/random_kernel.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
    const bool has_layouts = OneIn(3);
    for (const TensorLetters& operand : kernel_.letters.operands) {
      if (!has_layouts) break;
      kernel_.layouts.push_back(
          RandomOrder(random_, static_cast<int64_t>(operand.size())));
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
      const bool leads = absl::StrContains(kernel_.leading, letter);
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
        if (!absl::StrContains(kernel_.leading, letter)) {
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

}  // namespace

RandomKernel DrawKernel(Random& random) { return Drawing(random).Draw(); }

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
