#include "meshwright/rules/suggest_rule.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/rules/rule_text.h"
#include "meshwright/rules/shape_bound.h"

namespace meshwright {
namespace {

constexpr char kReductionOfFactor[] = "reduction: b";

// The first dimension of more than one element; -1 if there is none.
int64_t LeadingDimension(const Shape& shape) {
  const auto found = std::ranges::find_if(
      shape.dimensions, [](int64_t size) { return size > 1; });
  return found == shape.dimensions.end() ? -1
                                         : found - shape.dimensions.begin();
}

std::vector<const Shape*> OperandLeaves(const Instruction& instruction) {
  std::vector<const Shape*> leaves;
  for (const Instruction* operand : instruction.operands) {
    for (const Shape* leaf : Leaves(operand->shape)) leaves.push_back(leaf);
  }
  return leaves;
}

// The size that most tensors lead with, of equally frequent ones that of the
// first operand; only sizes that an operand leads with can be split.
int64_t BatchSize(const std::vector<const Shape*>& operands,
                  const std::vector<const Shape*>& results) {
  std::map<int64_t, int64_t> counts;
  const auto count = [&](const Shape& shape) {
    const int64_t leading = LeadingDimension(shape);
    if (leading >= 0) ++counts[shape.dimensions[leading]];
  };
  for (const Shape* shape : operands) count(*shape);
  for (const Shape* shape : results) count(*shape);
  int64_t best = 0;
  for (const Shape* shape : operands) {
    const int64_t leading = LeadingDimension(*shape);
    if (leading < 0) continue;
    const int64_t size = shape->dimensions[leading];
    if (best == 0 || counts[size] > counts[best]) best = size;
  }
  return best;
}

// Writes tensors as factors: the batch's, and one for each other size, further
// ones where a tensor has a size twice.
class Writer {
 public:
  explicit Writer(int64_t batch) : batch_(batch) {}

  // "b c"
  std::string Write(const Shape& shape) {
    const int64_t leading = LeadingDimension(shape);
    std::map<int64_t, size_t> used;  // Of each size, in this tensor.
    std::vector<std::string> names;
    for (int64_t i = 0; i < shape.rank(); ++i) {
      const int64_t size = shape.dimensions[i];
      if (i == leading && size == batch_) {
        names.push_back(kSuggestedFactor);
        continue;
      }
      std::vector<std::string>& known = names_[size];
      const size_t number = used[size]++;
      if (number == known.size()) known.push_back(NewName());
      names.push_back(known[number]);
    }
    return absl::StrJoin(names, " ");
  }

 private:
  // "c", ..., "z", "c1", ...
  std::string NewName() {
    constexpr int kLetters = 'z' - 'c' + 1;
    const int letter = made_ % kLetters;
    const int round = made_++ / kLetters;
    std::string name(1, static_cast<char>('c' + letter));
    if (round > 0) absl::StrAppend(&name, round);
    return name;
  }

  const int64_t batch_;
  std::map<int64_t, std::vector<std::string>> names_;
  int made_ = 0;
};

bool HasSideEffect(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attributes->custom_call_has_side_effect;
}

std::optional<std::string> RuleOfShapes(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall || HasSideEffect(instruction)) {
    return std::nullopt;
  }
  const std::vector<const Shape*> operands = OperandLeaves(instruction);
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  const int64_t batch = BatchSize(operands, results);
  if (batch == 0) return std::nullopt;
  Writer writer(batch);
  std::vector<std::string> read;
  std::vector<std::string> written;
  for (const Shape* shape : operands) read.push_back(writer.Write(*shape));
  for (const Shape* shape : results) written.push_back(writer.Write(*shape));

  std::vector<std::string> words;
  const bool is_summed = std::ranges::any_of(results, [&](const Shape* shape) {
    const int64_t leading = LeadingDimension(*shape);
    return ElementCount(*shape) > 0 &&
           (leading < 0 || shape->dimensions[leading] != batch);
  });
  if (is_summed) words.push_back(kReductionOfFactor);
  // What only results have is whole without a word.
  std::vector<std::string> whole;
  for (const std::string& tensor : read) {
    for (const absl::string_view name :
         absl::StrSplit(tensor, ' ', absl::SkipEmpty())) {
      if (name != kSuggestedFactor && !std::ranges::count(whole, name)) {
        whole.emplace_back(name);
      }
    }
  }
  if (!whole.empty()) {
    words.push_back(
        absl::StrCat("need_replication: ", absl::StrJoin(whole, " ")));
  }
  std::string rule = absl::StrCat(absl::StrJoin(read, ", "), " -> ",
                                  absl::StrJoin(written, ", "));
  if (!words.empty()) {
    absl::StrAppend(&rule, " {", absl::StrJoin(words, "; "), "}");
  }
  // Never advise what would be refused.
  if (!ParseRule(rule, instruction).ok()) return std::nullopt;
  return rule;
}

// "if it computes each b without the others, and sums over it what has none, "
std::string Condition(const std::string& rule) {
  const bool is_summed = absl::StrContains(rule, kReductionOfFactor);
  return absl::StrCat(
      "if it computes each ", kSuggestedFactor, " without the others",
      is_summed ? ", and sums over it what has none" : "", ", ");
}

}  // namespace

bool HasDimensionsToSplit(const Instruction& instruction) {
  const auto has = [](const Shape* shape) {
    return LeadingDimension(*shape) >= 0;
  };
  return std::ranges::any_of(OperandLeaves(instruction), has) ||
         std::ranges::any_of(Leaves(instruction.shape), has);
}

std::optional<std::string> SuggestRule(const Instruction& instruction) {
  return IsShapeBound(instruction) ? std::nullopt : RuleOfShapes(instruction);
}

std::optional<std::string> SuggestKernelRule(const Instruction& instruction) {
  return IsShapeBound(instruction) ? RuleOfShapes(instruction) : std::nullopt;
}

std::string TargetOrOpcode(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall
             ? instruction.attributes->custom_call_target
             : std::string(instruction.opcode_name());
}

std::string AdviceOnRule(const Instruction& instruction) {
  if (const std::optional<std::string> rule = SuggestRule(instruction)) {
    return absl::StrCat(Condition(*rule), "--rules FILE with {\"",
                        absl::CEscape(TargetOrOpcode(instruction)), "\": \"",
                        *rule, "\"} splits it");
  }
  if (const auto rule = SuggestKernelRule(instruction)) {
    return absl::StrCat(
        Condition(*rule), "meshwright.kernel(fn, rule=\"", *rule,
        "\") around the function that calls it splits it; no --rules can, as "
        "its program is for the whole shapes");
  }
  if (HasSideEffect(instruction)) {
    return "it is said to have side effects; call it with "
           "has_side_effect=False if it has none, and give it a rule";
  }
  if (instruction.opcode == Opcode::kCustomCall) {
    return "its operands have no dimension that a rule could split";
  }
  return "write it with operations that `meshwright inspect` does not call "
         "whole";
}

}  // namespace meshwright
