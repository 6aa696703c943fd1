#include "meshwright/cli/compare_runs.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/partition.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

Module Read(const std::string& text) {
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return *std::move(module);
}

Client* SharedClient() {
  static const auto* const client = [] {
    auto made = MakeClientFor("cpu", 4);
    EXPECT_TRUE(made.ok()) << made.status();
    return new std::unique_ptr<Client>(*std::move(made));
  }();
  return client->get();
}

RunComparison Compare(const Module& module, Runner& parts,
                      const ComparisonOptions& options = {}) {
  const auto whole = MakeRunner(module, SharedClient());
  EXPECT_TRUE(whole.ok()) << whole.status();
  Progress progress("checking", ComparedSteps(options));
  auto compared = RunAndCompare(module, **whole, parts, options, progress);
  EXPECT_TRUE(compared.ok()) << compared.status();
  return *std::move(compared);
}

// Another program in the place of the partitioned one.
RunComparison CompareTexts(const std::string& one, const std::string& other,
                           const ComparisonOptions& options = {}) {
  const Module module = Read(one);
  const Module parts_module = Read(other);
  const auto parts = MakeRunner(parts_module, SharedClient());
  EXPECT_TRUE(parts.ok()) << parts.status();
  return Compare(module, **parts, options);
}

// An accumulator that is replaced by a much smaller gradient, as optimisers do
// that take a running mean: a + (g - a), which cancels.
constexpr char kCancels[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
add {
  l = f32[] parameter(0)
  r = f32[] parameter(1)
  ROOT s = f32[] add(l, r)
}
ENTRY main {
  a = f32[4096] parameter(0)
  x = f32[4096,64] parameter(1)
  zero = f32[] constant(0)
  sums = f32[4096] reduce(x, zero), dimensions={1}, to_apply=add
  small = f32[] constant(0.001)
  factors = f32[4096] broadcast(small), dimensions={}
  g = f32[4096] multiply(sums, factors)
  difference = f32[4096] subtract(g, a)
  d = f32[4096] opt-barrier(difference)
  sum = f32[4096] add(a, d)
  ROOT all = (f32[4096]) tuple(sum)
})";

TEST(RunAndCompare, CallsRoundingWhatNudgedInputsMakeToo) {
  // Added up in eight parts, as on eight devices.
  const std::string parts = absl::StrReplaceAll(
      kCancels,
      {{"sums = f32[4096] reduce(x, zero), dimensions={1}, to_apply=add",
        "eight = f32[4096,8,8] reshape(x)\n"
        "  part = f32[4096,8] reduce(eight, zero), dimensions={2}, "
        "to_apply=add\n"
        "  each = f32[4096,8] opt-barrier(part)\n"
        "  sums = f32[4096] reduce(each, zero), dimensions={1}, "
        "to_apply=add"}});
  const RunComparison compared = CompareTexts(kCancels, parts, {.steps = 1});
  ASSERT_EQ(compared.tensors.size(), 1u);
  const TensorError& error = compared.tensors[0];
  EXPECT_EQ(error.verdict(), ErrorVerdict::kRounding)
      << error.relative() << " " << error.relative_noise();
  EXPECT_GT(error.relative(), 5e-6);
  EXPECT_TRUE(compared.status().ok());
  EXPECT_THAT(compared.ToString({}, 4, "data=4"), HasSubstr("equal after"));
  EXPECT_THAT(compared.ToString({}, 4, "data=4"), HasSubstr("last-bit"));
  EXPECT_EQ(compared.ToJson()["tensors"][0]["verdict"], "rounding");
  // Not for those who say what they tolerate.
  EXPECT_EQ(
      CompareTexts(kCancels, parts, {.steps = 1, .tolerance = 1e-5}).verdict(),
      ErrorVerdict::kWrong);
}

TEST(RunAndCompare, CallsRoundingWhatAnotherOrderMakesToo) {
  // Off by some percent of an update, which no last bit explains.
  const Module module = Read(kCancels);
  const Module other =
      Read(absl::StrReplaceAll(kCancels, {{"(0.001)", "(0.00102)"}}));
  const Module wrong =
      Read(absl::StrReplaceAll(kCancels, {{"(0.001)", "(0.00101)"}}));
  const auto whole = MakeRunner(module, SharedClient());
  const auto parts = MakeRunner(wrong, SharedClient());
  ASSERT_TRUE(whole.ok() && parts.ok());
  Progress progress("checking", 9);
  int asked = 0;
  const auto compared =
      RunAndCompare(module, **whole, **parts, {.steps = 1}, progress,
                    [&]() -> absl::StatusOr<std::unique_ptr<Runner>> {
                      ++asked;
                      return MakeRunner(other, SharedClient());
                    });
  ASSERT_TRUE(compared.ok()) << compared.status();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(compared->verdict(), ErrorVerdict::kRounding);
}

TEST(RunAndCompare, SeesMistakesAboveTheNoise) {
  // Some percent of an update, here forgotten or counted twice.
  for (const char* wrong : {"constant(0.00098)", "constant(0.002)"}) {
    const RunComparison compared = CompareTexts(
        kCancels, absl::StrReplaceAll(kCancels, {{"constant(0.001)", wrong}}),
        {.steps = 1});
    EXPECT_EQ(compared.verdict(), ErrorVerdict::kWrong);
    EXPECT_THAT(compared.status().ToString(), HasSubstr("on one device"));
  }
}

// The logistic map, fifty times over: a last bit becomes everything.
constexpr char kChaos[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
body {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[64] get-tuple-element(p), index=1
  f = f32[] constant(3.9)
  fs = f32[64] broadcast(f), dimensions={}
  o = f32[] constant(1)
  os = f32[64] broadcast(o), dimensions={}
  r = f32[64] subtract(os, x)
  xr = f32[64] multiply(x, r)
  y = f32[64] multiply(fs, xr)
  ROOT t = (s32[], f32[64]) tuple(next, y)
}
condition {
  p = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(50)
  ROOT c = pred[] compare(i, n), direction=LT
}
ENTRY main {
  s = f32[64] parameter(0)
  root = f32[64] sqrt(s)
  zero = s32[] constant(0)
  start = (s32[], f32[64]) tuple(zero, root)
  end = (s32[], f32[64]) while(start), condition=condition, body=body
  x = f32[64] get-tuple-element(end), index=1
  ROOT all = (f32[64]) tuple(x)
})";

TEST(RunAndCompare, SaysThatChaosTellsNothing) {
  // 3.9 x (1 - x) in another order.
  const std::string other =
      absl::StrReplaceAll(kChaos, {{"multiply(x, r)", "multiply(fs, x)"},
                                   {"multiply(fs, xr)", "multiply(xr, r)"}});
  const RunComparison compared = CompareTexts(kChaos, other, {.steps = 1});
  EXPECT_EQ(compared.verdict(), ErrorVerdict::kUnclear);
  EXPECT_FALSE(compared.ok());
  EXPECT_THAT(compared.status().ToString(), HasSubstr("ill-conditioned: "));
  EXPECT_THAT(compared.ToString({}, 4, "data=4"),
              HasSubstr("ill-conditioned after"));
  EXPECT_EQ(CompareTexts(kChaos, kChaos, {.steps = 1}).verdict(),
            ErrorVerdict::kEqual);
}

TEST(RunAndCompare, FewElementsThatTellNothingHideNothingElse) {
  // Beside the chaos something large that is not.
  const auto beside = [](const std::string& text, const std::string& factor) {
    return absl::StrReplaceAll(
        text,
        {{"ROOT all = (f32[64]) tuple(x)",
          "b = f32[10000] parameter(1)\n  two = f32[] constant(" + factor +
              ")\n  twos = f32[10000] broadcast(two), dimensions={}\n"
              "  c = f32[10000] multiply(b, twos)\n"
              "  ROOT all = (f32[64], f32[10000]) tuple(x, c)"}});
  };
  const std::string other =
      absl::StrReplaceAll(kChaos, {{"multiply(x, r)", "multiply(fs, x)"},
                                   {"multiply(fs, xr)", "multiply(xr, r)"}});
  const RunComparison compared =
      CompareTexts(beside(kChaos, "2"), beside(other, "2"), {.steps = 1});
  EXPECT_EQ(compared.tensors[0].verdict(), ErrorVerdict::kUnclear);
  EXPECT_EQ(compared.verdict(), ErrorVerdict::kRounding);
  EXPECT_NEAR(compared.unclear(), 0.0064, 1e-3);
  EXPECT_THAT(compared.ToString({}, 4, "data=4"),
              HasSubstr("% of the elements hold little but rounding"));
  EXPECT_EQ(
      CompareTexts(beside(kChaos, "2"), beside(other, "2.001"), {.steps = 1})
          .verdict(),
      ErrorVerdict::kWrong);
}

TEST(RunAndCompare, WhatIsNoNumberTellsNothing) {
  const std::string root = absl::StrReplaceAll(
      kCancels,
      {{"add(a, d)", "log(negative)"},
       {"sum = ", "negative = f32[4096] add(d, difference)\n  sum = "},
       {"constant(0.001)", "constant(-inf)"}});
  const RunComparison compared = CompareTexts(root, root, {.steps = 1});
  EXPECT_EQ(compared.verdict(), ErrorVerdict::kUnclear);
  EXPECT_THAT(compared.status().ToString(), HasSubstr("are not numbers"));
}

// A step of x w with the batch split: one all-reduce of the gradient.
constexpr char kStep[] =
    R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
ENTRY main {
  w = f32[16,16] parameter(0)
  x = f32[8,16] parameter(1)
  y = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[8,16] tanh(y)
  g = f32[16,16] dot(x, t), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  next = f32[16,16] subtract(w, g)
  ROOT all = (f32[16,16]) tuple(next)
})";

TEST(RunAndCompare, SeesAForgottenPartialSum) {
  const Module module = Read(kStep);
  const Mesh mesh = *Mesh::Parse("data=4");
  Pins pins;
  pins.parameters = {Annotation(Sharding::Replicated({16, 16})),
                     Annotation(*ParseSharding("[data,-]", {8, 16}, mesh))};
  pins.outputs = {Annotation(Sharding::Replicated({16, 16}))};
  auto split = Partition(module, mesh, pins);
  ASSERT_TRUE(split.ok()) << split.status();
  {
    const auto parts = MakeRunner(module, *split, SharedClient());
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_TRUE(Compare(module, **parts).ok());
  }
  Computation& entry = *split->module.entry();
  std::vector<Instruction*> kept;
  for (const auto& user : entry.instructions()) {
    for (Instruction*& operand : user->operands) {
      if (operand->opcode == Opcode::kAllReduce) operand = operand->operands[0];
    }
    if (user->opcode != Opcode::kAllReduce) kept.push_back(user.get());
  }
  ASSERT_LT(std::ssize(kept), entry.size());
  entry.Keep(kept);
  const auto parts = MakeRunner(module, *split, SharedClient());
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(Compare(module, **parts).verdict(), ErrorVerdict::kWrong);
}

}  // namespace
}  // namespace meshwright
