#include "meshwright/rules/rule_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/text_cursor.h"

namespace meshwright {
namespace {

constexpr absl::string_view kShardyRule = "#sdy.op_sharding_rule<";
constexpr absl::string_view kRest = "...";

using DimNames = std::vector<std::string>;  // Of a dimension, major first.
using TensorNames = std::vector<DimNames>;  // By dimension.

// A rule before sizes are known.
struct NamedRule {
  std::vector<TensorNames> operands;
  std::vector<TensorNames> results;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, FactorKind> kinds;  // Where something was said.
  std::map<std::string, Reduction> reductions;
  // Nothing has to be said of factors that results do not have.
  bool may_lose = false;
};

struct NamedKind {
  absl::string_view name;
  FactorKind kind;
};

// What opaque code cannot be made to exchange is whole.
constexpr std::array kKinds = std::to_array<NamedKind>({
    {"reduction", FactorKind::kReduced},
    {"need_replication", FactorKind::kWhole},
    {"permutation", FactorKind::kWhole},
    {"blocked_propagation", FactorKind::kKept},
});

absl::StatusOr<FactorKind> KindNamed(absl::string_view name) {
  for (const NamedKind& one : kKinds) {
    if (one.name == name) return one.kind;
  }
  return Bad("'", name,
             "' is no kind of factor; there are reduction, need_replication, "
             "permutation");
}

absl::StatusOr<Reduction> ReductionNamed(absl::string_view name) {
  static constexpr std::pair<absl::string_view, Reduction> kNames[] = {
      {"sum", Reduction::kSum},
      {"max", Reduction::kMax},
      {"min", Reduction::kMin},
      {"product", Reduction::kProduct}};
  for (const auto& [known, reduction] : kNames) {
    if (known == name) return reduction;
  }
  return Bad("'", name, "' is no reduction; there are sum, max, min, product");
}

// `b (g r) h`, up to what ends a tensor.
absl::StatusOr<TensorNames> ReadTensor(TextCursor& cursor) {
  TensorNames tensor;
  while (!cursor.AtEnd() && !cursor.NextIs(",") && !cursor.NextIs("->") &&
         !cursor.NextIs("{")) {
    DimNames& dim = tensor.emplace_back();
    if (cursor.Take(kRest)) {
      dim = {std::string(kRest)};
    } else if (cursor.Take("(")) {
      while (!cursor.Take(")")) {
        MW_ASSIGN_OR_RETURN(const absl::string_view name,
                            cursor.Name("a factor"));
        dim.emplace_back(name);
      }
    } else {
      MW_ASSIGN_OR_RETURN(const absl::string_view name,
                          cursor.Name("a factor"));
      dim.emplace_back(name);
    }
  }
  return tensor;
}

absl::StatusOr<std::vector<TensorNames>> ReadTensors(TextCursor& cursor) {
  std::vector<TensorNames> tensors;
  do {
    MW_ASSIGN_OR_RETURN(TensorNames tensor, ReadTensor(cursor));
    tensors.push_back(std::move(tensor));
  } while (cursor.Take(","));
  return tensors;
}

absl::StatusOr<NamedRule> ReadPlain(TextCursor& cursor) {
  NamedRule rule;
  MW_ASSIGN_OR_RETURN(rule.operands, ReadTensors(cursor));
  MW_RETURN_IF_ERROR(cursor.Expect("->"));
  MW_ASSIGN_OR_RETURN(rule.results, ReadTensors(cursor));
  while (cursor.Take("{")) {
    while (!cursor.Take("}")) {
      MW_ASSIGN_OR_RETURN(const absl::string_view name,
                          cursor.Name("a factor or a kind of factors"));
      if (cursor.Take("=")) {
        MW_ASSIGN_OR_RETURN(rule.sizes[std::string(name)], cursor.Number());
      } else {
        MW_ASSIGN_OR_RETURN(const FactorKind kind, KindNamed(name));
        Reduction reduction = Reduction::kSum;
        if (kind == FactorKind::kReduced && !cursor.NextIs(":")) {
          MW_ASSIGN_OR_RETURN(const absl::string_view how,
                              cursor.Name("a reduction"));
          MW_ASSIGN_OR_RETURN(reduction, ReductionNamed(how));
        }
        MW_RETURN_IF_ERROR(cursor.Expect(":"));
        while (!cursor.NextIs(";") && !cursor.NextIs("}")) {
          MW_ASSIGN_OR_RETURN(const absl::string_view factor,
                              cursor.Name("a factor"));
          rule.kinds[std::string(factor)] = kind;
          rule.reductions[std::string(factor)] = reduction;
        }
      }
      if (!cursor.NextIs("}")) MW_RETURN_IF_ERROR(cursor.Expect(";"));
    }
  }
  MW_RETURN_IF_ERROR(cursor.ExpectEnd());
  return rule;
}

// Shardy writes factors without anything between: "ijz_1" are i, j and z_1.
DimNames Symbols(absl::string_view text) {
  DimNames names;
  for (size_t i = 0; i < text.size(); ++i) {
    if (absl::ascii_isalpha(text[i]) || names.empty()) names.emplace_back();
    names.back().push_back(text[i]);
  }
  return names;
}

absl::StatusOr<std::vector<TensorNames>> ReadShardyTensors(TextCursor& cursor) {
  std::vector<TensorNames> tensors;
  MW_RETURN_IF_ERROR(cursor.Expect("("));
  while (!cursor.Take(")")) {
    if (!tensors.empty()) MW_RETURN_IF_ERROR(cursor.Expect(","));
    MW_RETURN_IF_ERROR(cursor.Expect("["));
    TensorNames& tensor = tensors.emplace_back();
    while (!cursor.Take("]")) {
      if (!tensor.empty()) MW_RETURN_IF_ERROR(cursor.Expect(","));
      MW_ASSIGN_OR_RETURN(const absl::string_view dim, cursor.Name("factors"));
      tensor.push_back(Symbols(dim));
    }
  }
  return tensors;
}

absl::StatusOr<NamedRule> ReadShardy(TextCursor& cursor) {
  NamedRule rule{.may_lose = true};
  MW_ASSIGN_OR_RETURN(rule.operands, ReadShardyTensors(cursor));
  MW_RETURN_IF_ERROR(cursor.Expect("->"));
  MW_ASSIGN_OR_RETURN(rule.results, ReadShardyTensors(cursor));
  MW_RETURN_IF_ERROR(cursor.Expect("{"));
  while (!cursor.Take("}")) {
    MW_ASSIGN_OR_RETURN(const absl::string_view name, cursor.Name("a factor"));
    MW_RETURN_IF_ERROR(cursor.Expect("="));
    MW_ASSIGN_OR_RETURN(rule.sizes[std::string(name)], cursor.Number());
    cursor.Take(",");
  }
  while (!cursor.Take(">")) {
    if (cursor.Take(",")) {
      MW_RETURN_IF_ERROR(cursor.Expect("custom"));
      continue;
    }
    MW_ASSIGN_OR_RETURN(const absl::string_view name,
                        cursor.Name("a kind of factors"));
    MW_ASSIGN_OR_RETURN(const FactorKind kind, KindNamed(name));
    MW_RETURN_IF_ERROR(cursor.Expect("="));
    MW_RETURN_IF_ERROR(cursor.Expect("{"));
    while (!cursor.Take("}")) {
      MW_ASSIGN_OR_RETURN(const absl::string_view factor,
                          cursor.Name("a factor"));
      rule.kinds[std::string(factor)] = kind;
      cursor.Take(",");
    }
  }
  MW_RETURN_IF_ERROR(cursor.ExpectEnd());
  return rule;
}

absl::StatusOr<NamedRule> Read(absl::string_view text) {
  TextCursor cursor(text);
  return cursor.Take(kShardyRule) ? ReadShardy(cursor) : ReadPlain(cursor);
}

bool IsNamePart(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// A tensor of the instruction and what the rule says of it.
struct Named {
  std::string called;  // "operand 1"
  const Shape* shape;
  TensorNames names;
  bool is_result = false;
};

// Gives a named rule the instruction's sizes.
class RuleMaker {
 public:
  RuleMaker(NamedRule named, const Instruction& instruction)
      : named_(std::move(named)), instruction_(instruction) {}

  absl::StatusOr<Rule> Make() {
    std::vector<const Shape*> operands;
    for (const Instruction* operand : instruction_.operands) {
      for (const Shape* leaf : Leaves(operand->shape)) {
        operands.push_back(leaf);
      }
    }
    MW_RETURN_IF_ERROR(Pair("operand", operands, named_.operands));
    MW_RETURN_IF_ERROR(
        Pair("result", Leaves(instruction_.shape), named_.results));
    for (Named& tensor : tensors_) MW_RETURN_IF_ERROR(Expand(tensor));
    for (const size_t most : {1, 1 << 20}) {  // Plain dimensions first.
      for (const Named& tensor : tensors_) {
        MW_RETURN_IF_ERROR(Count(tensor, most));
      }
    }
    for (const Named& tensor : tensors_) MW_RETURN_IF_ERROR(CheckSizes(tensor));
    MW_RETURN_IF_ERROR(CheckKinds());
    Rule rule;
    for (const Named& tensor : tensors_) AddTensor(tensor, rule);
    return rule;
  }

  // Of a rule that was made: its factors, by name.
  const std::map<std::string, int32_t>& numbers() const { return numbers_; }

 private:
  absl::Status Pair(absl::string_view what,
                    const std::vector<const Shape*>& shapes,
                    std::vector<TensorNames>& names) {
    // A tensor without dimensions is nothing between commas.
    if (shapes.empty() && names.size() == 1 && names[0].empty()) names.clear();
    if (shapes.size() != names.size()) {
      return Bad("it has ", shapes.size(), " ", what, "s, the rule ",
                 names.size());
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      tensors_.push_back({absl::StrCat(what, " ", i), shapes[i],
                          std::move(names[i]), what == "result"});
    }
    return absl::OkStatus();
  }

  // The dimensions of '...', by names of their own; one name per dimension.
  absl::Status Expand(Named& tensor) {
    TensorNames& names = tensor.names;
    const auto rank = static_cast<size_t>(tensor.shape->rank());
    const auto rest = std::ranges::find(names, DimNames{std::string(kRest)});
    if (rest != names.end() && rank + 1 >= names.size()) {
      const size_t count = rank + 1 - names.size();
      if (rest_.value_or(count) != count) {
        return Bad(tensor.called, " ", tensor.shape->ToString(), ": '...' is ",
                   count, " dimensions here, ", *rest_, " before");
      }
      rest_ = count;
      TensorNames expanded(names.begin(), rest);
      for (size_t i = 0; i < count; ++i) {
        expanded.push_back({absl::StrCat(kRest, i)});
      }
      expanded.insert(expanded.end(), rest + 1, names.end());
      names = std::move(expanded);
    }
    if (names.size() != rank) {
      return Bad(tensor.called, " ", tensor.shape->ToString(), " has ", rank,
                 " dimensions, the rule ", names.size());
    }
    std::set<std::string> seen;
    for (const DimNames& dim : names) {
      for (const std::string& name : dim) {
        if (name == kRest) {
          return Bad(tensor.called, ": '...' stands for dimensions, once");
        }
        if (!seen.insert(name).second) {
          return Bad(tensor.called, ": factor ", name, " stands there twice");
        }
        (tensor.is_result ? in_results_ : in_operands_).insert(name);
      }
    }
    return absl::OkStatus();
  }

  // The sizes of factors, from dimensions that have at most so many.
  absl::Status Count(const Named& tensor, size_t most) {
    for (size_t i = 0; i < tensor.names.size(); ++i) {
      if (tensor.names[i].size() > most) continue;
      int64_t known = 1;
      const std::string* open = nullptr;
      for (const std::string& name : tensor.names[i]) {
        const auto size = named_.sizes.find(name);
        if (size != named_.sizes.end()) {
          known *= size->second;
        } else if (open == nullptr) {
          open = &name;
        } else {
          return Bad(tensor.called, ", dimension ", i, ": how large are ",
                     *open, " and ", name, "? Say one, as {", *open, "=4}");
        }
      }
      const int64_t whole = tensor.shape->dimensions[i];
      if (open == nullptr) continue;
      if (known == 0 || whole % known != 0) {
        return Bad(tensor.called, " ", tensor.shape->ToString(), ", dimension ",
                   i, ": ", known, " does not divide it");
      }
      named_.sizes[*open] = whole / known;
    }
    return absl::OkStatus();
  }

  absl::Status CheckSizes(const Named& tensor) const {
    for (size_t i = 0; i < tensor.names.size(); ++i) {
      int64_t product = 1;
      std::vector<std::string> sizes;
      for (const std::string& name : tensor.names[i]) {
        product *= named_.sizes.at(name);
        sizes.push_back(absl::StrCat(name, " is ", named_.sizes.at(name)));
      }
      if (product == tensor.shape->dimensions[i]) continue;
      return Bad(tensor.called, " ", tensor.shape->ToString(), ": dimension ",
                 i, " is ", tensor.shape->dimensions[i],
                 sizes.empty() ? ", and has no factor"
                               : absl::StrCat(", but ", sizes[0]));
    }
    return absl::OkStatus();
  }

  // What is said of '...' is said of each of its dimensions.
  void ExpandKinds() {
    const std::string rest(kRest);
    const auto kind = named_.kinds.find(rest);
    if (kind == named_.kinds.end() || !rest_.has_value()) return;
    for (size_t i = 0; i < *rest_; ++i) {
      named_.kinds[absl::StrCat(rest, i)] = kind->second;
      named_.reductions[absl::StrCat(rest, i)] = named_.reductions[rest];
    }
    named_.kinds.erase(kind);
  }

  absl::Status CheckKinds() {
    ExpandKinds();
    for (const auto& [name, kind] : named_.kinds) {
      const bool is_read = in_operands_.contains(name);
      const bool is_written = in_results_.contains(name);
      if (!is_read && !is_written) return Bad("no tensor has a factor ", name);
      if (kind == FactorKind::kReduced && ResultWithout(name) == nullptr) {
        return Bad("factor ", name, " is reduced, but every result has it");
      }
    }
    for (const auto& [name, size] : named_.sizes) {
      if (!in_operands_.contains(name) && !in_results_.contains(name)) {
        return Bad("no tensor has a factor ", name);
      }
    }
    for (const std::string& name : in_operands_) {
      const Named* without = ResultWithout(name);
      if (without == nullptr || named_.kinds.contains(name)) continue;
      if (!named_.may_lose) {
        return Bad(without->called, " has no factor ", name,
                   "; {reduction: ", name,
                   "} if it is a sum over it, {need_replication: ", name,
                   "} if ", name, " must not be split");
      }
      // What others have is the same on all devices, as Shardy takes it.
      if (in_results_.contains(name)) continue;
      named_.kinds[name] = FactorKind::kWhole;
    }
    for (const std::string& name : in_results_) {
      if (!in_operands_.contains(name)) {
        named_.kinds[name] = FactorKind::kWhole;
      }
    }
    return absl::OkStatus();
  }

  // The first result that has elements, but not this factor.
  const Named* ResultWithout(const std::string& name) const {
    for (const Named& tensor : tensors_) {
      const bool has =
          std::ranges::any_of(tensor.names, [&](const DimNames& dim) {
            return std::ranges::find(dim, name) != dim.end();
          });
      if (tensor.is_result && !has && ElementCount(*tensor.shape) > 0) {
        return &tensor;
      }
    }
    return nullptr;
  }

  void AddTensor(const Named& tensor, Rule& rule) {
    TensorFactors factors;
    for (const DimNames& dim : tensor.names) {
      DimFactors& numbers = factors.emplace_back();
      for (const std::string& name : dim) {
        const auto [found, is_new] = numbers_.try_emplace(name, -1);
        if (is_new) {
          const auto kind = named_.kinds.find(name);
          found->second = rule.AddFactor(
              named_.sizes.at(name),
              kind == named_.kinds.end() ? FactorKind::kKept : kind->second);
          const auto reduction = named_.reductions.find(name);
          if (reduction != named_.reductions.end()) {
            rule.factors[found->second].reduction = reduction->second;
          }
        }
        numbers.push_back(found->second);
      }
    }
    (tensor.is_result ? rule.results : rule.operands)
        .push_back(std::move(factors));
  }

  NamedRule named_;
  const Instruction& instruction_;
  std::vector<Named> tensors_;
  std::optional<size_t> rest_;  // How many dimensions '...' stands for.
  std::set<std::string> in_operands_;
  std::set<std::string> in_results_;
  std::map<std::string, int32_t> numbers_;
};

}  // namespace

absl::StatusOr<Rule> ParseRule(absl::string_view text,
                               const Instruction& instruction) {
  MW_ASSIGN_OR_RETURN(NamedRule named, Read(text));
  return RuleMaker(std::move(named), instruction).Make();
}

std::string LocalRuleText(absl::string_view text,
                          const Instruction& instruction, const Rule& rule,
                          const Strategy& strategy, const Mesh& mesh) {
  absl::StatusOr<NamedRule> named = Read(text);
  if (!named.ok()) return std::string(text);
  RuleMaker maker(*std::move(named), instruction);
  if (!maker.Make().ok()) return std::string(text);
  std::string local;
  size_t name = 0;  // Where the last name begins.
  for (size_t i = 0; i < text.size(); ++i) {
    local.push_back(text[i]);
    if (text[i] != '=' && !IsNamePart(text[i])) name = i + 1;
    if (text[i] != '=' || i + 1 == text.size() ||
        !absl::ascii_isdigit(text[i + 1])) {
      continue;
    }
    const auto factor =
        maker.numbers().find(std::string(text.substr(name, i - name)));
    if (factor == maker.numbers().end()) continue;
    absl::StrAppend(&local,
                    LocalFactorSize(rule, strategy, factor->second, mesh));
    while (i + 1 < text.size() && absl::ascii_isdigit(text[i + 1])) ++i;
  }
  return local;
}

const std::string* RecordedRule(const Instruction& instruction) {
  for (const char* key : kRuleAttributes) {
    const auto found = instruction.frontend_attributes.find(key);
    if (found != instruction.frontend_attributes.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace meshwright
