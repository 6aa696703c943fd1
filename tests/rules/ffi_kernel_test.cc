// Kernels registered through XLA's FFI, split by the rules that their calls
// bring: random ones, on random meshes, equal one device bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/rules/rule_text.h"
#include "tests/rules/random_kernel.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

constexpr int64_t kDraws = 50;  // Per test.

// How many strategies split what.
struct Tally {
  int64_t kept = 0, reduced = 0, both = 0;
};

bool Splits(const Rule& rule, const Strategy& strategy, FactorKind kind) {
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (rule.factors[i].kind == kind && !strategy.factor_axes[i].empty()) {
      return true;
    }
  }
  return false;
}

// Strategies of the rule that the call brings, on a mesh, compared with one
// device; counted if they agree.
absl::Status CheckCall(const OneOp& call, absl::string_view mesh_text,
                       Random& random, Tally& tally) {
  const BuiltOp built = Build(call);
  const std::string* text = RecordedRule(*built.instruction);
  MW_ASSIGN_OR_RETURN(const Rule rule, ParseRule(*text, *built.instruction));
  if (RuleFor(*built.instruction).is_fallback) {
    return absl::InternalError("the rule is not taken");
  }
  MW_ASSIGN_OR_RETURN(const Mesh mesh, Mesh::Parse(mesh_text));
  const Values inputs = DrawInputs(built, random);
  MW_ASSIGN_OR_RETURN(const Values wanted, RunWhole(built, inputs));
  const std::vector<Strategy> strategies =
      SampleStrategies(built, rule, mesh, random, 8);
  MW_RETURN_IF_ERROR(
      CheckStrategies(built, rule, strategies, mesh, inputs, wanted));
  for (const Strategy& strategy : strategies) {
    const bool kept = Splits(rule, strategy, FactorKind::kKept);
    const bool reduced = Splits(rule, strategy, FactorKind::kReduced);
    tally.kept += kept;
    tally.reduced += reduced;
    tally.both += kept && reduced;
  }
  return absl::OkStatus();
}

class RandomKernels : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomKernels, EqualOneDevice) {
  Random random(GetParam());
  Tally tally;
  for (int64_t i = 0; i < kDraws; ++i) {
    const RandomKernel kernel = DrawKernel(random);
    const std::string mesh = RandomMesh(random);
    ASSERT_EQ(CheckCall(CallOf(kernel), mesh, random, tally), absl::OkStatus())
        << RuleText(kernel) << " on " << mesh;
  }
  EXPECT_GT(tally.kept, kDraws);
  EXPECT_GT(tally.reduced, kDraws / 2);
  EXPECT_GT(tally.both, kDraws / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomKernels, testing::Range<uint64_t>(1, 6));

bool Has(const TensorLetters& tensor, char letter) {
  return std::ranges::any_of(tensor, [&](const std::string& dim) {
    return absl::StrContains(dim, letter);
  });
}

// A letter of `from` that some operand has; 0 if there is none.
char LetterToMove(const std::string& from, const RandomKernel& kernel) {
  for (const char letter : from) {
    if (kernel.sizes.at(letter) % 2 == 0) return letter;
  }
  return 0;
}

// A rule that says of one letter what is not so.
struct Lie {
  RandomKernel said;
  char letter = 0;
};

Lie CallItSplittable(RandomKernel kernel) {
  const char letter = LetterToMove(kernel.whole, kernel);
  std::erase(kernel.whole, letter);
  const bool everywhere = std::ranges::all_of(
      kernel.letters.results,
      [&](const auto& tensor) { return Has(tensor, letter); });
  if (letter != 0 && !everywhere) kernel.reduced.push_back(letter);
  return {std::move(kernel), letter};
}

// Shardy's rules say so by saying nothing, of what some results have.
Lie CallItKept(RandomKernel kernel) {
  for (const char letter : kernel.reduced) {
    const bool somewhere = std::ranges::any_of(
        kernel.letters.results,
        [&](const auto& tensor) { return Has(tensor, letter); });
    if (!kernel.shardy || !somewhere || kernel.sizes.at(letter) % 2 != 0) {
      continue;
    }
    std::erase(kernel.reduced, letter);
    return {std::move(kernel), letter};
  }
  return {};
}

Lie CallItMaximum(RandomKernel kernel) {
  if (kernel.shardy) return {};
  kernel.reduction = "max";
  const char letter = LetterToMove(kernel.reduced, kernel);
  return {std::move(kernel), letter};
}

int32_t FactorOf(const Rule& rule, const KernelLetters& letters, char letter) {
  for (size_t i = 0; i < letters.operands.size(); ++i) {
    for (size_t j = 0; j < letters.operands[i].size(); ++j) {
      const size_t found = letters.operands[i][j].find(letter);
      if (found != std::string::npos) return rule.operands[i][j][found];
    }
  }
  return -1;
}

// Whether splitting the letter over two devices shows that it must not be.
absl::StatusOr<bool> IsCaught(const RandomKernel& kernel, const Lie& lie,
                              Random& random) {
  OneOp call = CallOf(kernel);
  call.frontend_attributes.begin()->second = RuleText(lie.said);
  const BuiltOp built = Build(call);
  MW_ASSIGN_OR_RETURN(const Rule rule,
                      ParseRule(RuleText(lie.said), *built.instruction));
  const Mesh mesh = *Mesh::Parse("2");
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  SetAxes(rule, FactorOf(rule, kernel.letters, lie.letter), mesh.AllSubAxes(),
          strategy);
  if (!IsValid(rule, strategy, mesh)) {
    return absl::InternalError("the wrong rule cannot be used");
  }
  for (int tries = 0; tries < 3; ++tries) {  // Zeros may hide it.
    const Values inputs = DrawInputs(built, random);
    MW_ASSIGN_OR_RETURN(const Values wanted, RunWhole(built, inputs));
    const absl::Status status =
        CheckStrategies(built, rule, {strategy}, mesh, inputs, wanted);
    if (status.ok()) continue;
    if (absl::StrContains(status.message(), "local element")) return true;
    return status;
  }
  return false;
}

class WrongRules : public testing::TestWithParam<Lie (*)(RandomKernel)> {};

TEST_P(WrongRules, AreCaught) {
  Random random(1);
  int64_t tried = 0;
  while (tried < 25) {
    const RandomKernel kernel = DrawKernel(random);
    if (kernel.reduction != "sum") continue;  // Others may hide it.
    const Lie lie = GetParam()(kernel);
    if (lie.letter == 0) continue;
    ++tried;
    const absl::StatusOr<bool> caught = IsCaught(kernel, lie, random);
    ASSERT_TRUE(caught.ok()) << caught.status();
    EXPECT_TRUE(*caught) << RuleText(lie.said) << " instead of "
                         << RuleText(kernel);
  }
}

INSTANTIATE_TEST_SUITE_P(Lies, WrongRules,
                         testing::Values(CallItSplittable, CallItKept,
                                         CallItMaximum));

}  // namespace
}  // namespace meshwright
