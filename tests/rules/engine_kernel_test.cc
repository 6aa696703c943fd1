// Transformer Engine's calls by name: their rules, and that kernels which
// compute what theirs do (engine_kernels.h) give on shards what they give
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/grouped_gemm.h"
#include "meshwright/rules/library_gemm.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::IsEmpty;

OneOp EngineCall(const std::string& target,
                 const std::vector<std::string>& operands,
                 const std::string& result, const std::string& attributes = "",
                 const std::set<int32_t>& workspaces = {}) {
  return {.opcode = Opcode::kCustomCall,
          .operands = operands,
          .set =
              [=](Attributes& call) {
                call.custom_call_target = target;
                call.custom_call_api_version = 4;
                call.backend_config = absl::StrCat("{", attributes, "}");
              },
          .result = result,
          .exact_sums = true,
          .workspaces = workspaces};
}

Rule EngineRule(const OneOp& op) { return RuleFor(*Build(op).instruction); }

double PowerOfTwo(Random& random) { return std::exp2(Integers(-2, 2)(random)); }

const char kNormResult[] =
    "(f32[4,6,8], f32[1], f32[1], f32[1], f32[1], f32[4,6], f32[4,6], u8[64])";

OneOp EngineNorm() {
  OneOp op = EngineCall("te_norm_forward_ffi",
                        {"f32[4,6,8]", "f32[1]", "f32[1]", "f32[8]", "f32[8]"},
                        kNormResult, "", {1, 3, 7});
  op.draws = {{0, Reals(-2, 2)}, {1, PowerOfTwo}, {2, Integers(0, 0)}};
  return op;
}

TEST(EngineKernels, NormSplitsRowsAndTakesTheirMaximum) {
  const Rule rule = EngineRule(EngineNorm());
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kWhole);
  EXPECT_EQ(rule.factors[0].reduction, Reduction::kMax);
  EXPECT_EQ(rule.results[5], rule.results[6]);
  EXPECT_EQ(CheckRule(EngineNorm()), absl::OkStatus());
}

// RMS norms have no mean; before 2.9 amax was a result only; scales may be
// none.
TEST(EngineKernels, NormsOfOtherVersions) {
  const Rule rule = EngineRule(EngineCall(
      "te_norm_forward_ffi", {"bf16[4,6,8]", "f32[1]", "bf16[8]", "f32[1]"},
      "(bf16[4,6,8], bf16[1], f32[0], f32[1], f32[1], f32[1], f32[4,6], "
      "u8[64])"));
  EXPECT_FALSE(rule.is_fallback);
  EXPECT_EQ(rule.results[6][0], rule.operands[0][0]);
  // A mean of one row is no mean of all rows.
  const Rule rows = EngineRule(EngineCall(
      "te_norm_forward_ffi", {"bf16[4,8]", "f32[1]", "bf16[8]", "bf16[8]"},
      "(bf16[4,8], bf16[1], f32[0], f32[1], f32[1], f32[4], f32[4], u8[64])"));
  EXPECT_EQ(rows.results[5], rows.results[6]);
}

// Scales by block: parts are multiples of 128 rows and columns.
TEST(EngineKernels, ScalesByBlock) {
  struct Call {
    std::string target;
    std::vector<std::string> operands;
    std::string result;
    std::string attributes = "";
    int32_t columns = 2;  // Factors of the last dimension.
  };
  const std::vector<std::string> cast = {
      "bf16[8,256,384]", "f32[1]", "f32[1]", "u32[4]", "f32[1]", "bf16[1,1]"};
  const std::string plain = "is_dbias = false, stochastic_rounding = false, ";
  for (const Call& call : std::vector<Call>{
           {"te_norm_forward_ffi",
            {"bf16[8,256,384]", "f32[1]", "f32[1]", "bf16[384]", "bf16[384]"},
            "(f8e4m3fn[8,256,384], f8e4m3fn[8,256,384], u8[8,256,12], "
            "u8[8,8,384], f32[1], f32[8,256], f32[8,256], u8[64])",
            "",
            1},
           {"te_act_lu_ffi",
            {"bf16[8,256,2,384]", "f32[1]", "f32[1]"},
            "(f8e4m3fn[8,256,384], f8e4m3fn[1], u8[8,256,12], u8[1], f32[1])"},
           {"te_dact_dbias_quantize_ffi",
            {"bf16[8,256,384]", "bf16[8,256,2,384]", "f32[1]", "f32[1]"},
            "(f8e4m3fn[8,256,2,384], f8e4m3fn[8,256,2,384], u8[8,256,2,12], "
            "u8[8,8,2,384], f32[1], bf16[1], f32[1])",
            "is_dbias = false"},
           {"te_dbias_quantize_ffi", cast,
            "(f8e4m3fn[8,256,384], f8e4m3fn[8,256,384], u8[8,256,12], "
            "u8[8,8,384], f32[1], bf16[1], f32[1])",
            plain + "flatten_axis = -1 : i64, scaling_mode = 2 : i64"},
           {"te_dbias_quantize_ffi", cast,
            "(f8e4m3fn[1], f8e4m3fn[8,256,384], u8[8,256,12], u8[8,8,384], "
            "f32[1], bf16[1], f32[1])",
            plain + "flatten_axis = -1 : i64, scaling_mode = 2 : i64"},
           {"te_dbias_quantize_ffi", cast,
            "(f4e2m1fn[8,256,384], f4e2m1fn[384,8,256], u8[8,256,24], "
            "u8[384,8,16], f32[1], bf16[1], f32[1])",
            plain + "flatten_axis = -1 : i64, scaling_mode = 4 : i64"},
           {"te_rht_amax_ffi", {"bf16[8,256,384]"}, "(f32[1], f32[1])"}}) {
    const Rule rule = EngineRule(
        EngineCall(call.target, call.operands, call.result, call.attributes));
    ASSERT_FALSE(rule.is_fallback) << call.target << call.result;
    EXPECT_NE(KindOf(rule, 0, 0), FactorKind::kWhole) << call.target;
    EXPECT_EQ(rule.operands[0][1].size(), 2) << call.target;
    EXPECT_EQ(std::ssize(rule.operands[0].back()), call.columns) << call.target;
    EXPECT_EQ(rule.factors[rule.operands[0][1][1]].kind, FactorKind::kWhole);
  }
  // Padded ones.
  EXPECT_TRUE(
      EngineRule(EngineCall("te_dbias_quantize_ffi", {"bf16[96,384]", "f32[1]"},
                            "(f8e4m3fn[96,384], f8e4m3fn[1], u8[128,12], "
                            "u8[1], f32[1], bf16[1], f32[1])",
                            "is_dbias = false, flatten_axis = -1 : i64, "
                            "scaling_mode = 2 : i64"))
          .is_fallback);
}

TEST(EngineKernels, Routing) {
  const std::string topk = "te_fused_topk_with_score_function_";
  for (const char* map : {"pred[64,16]", "u8[64,2]"}) {
    const Rule forward = EngineRule(
        EngineCall(topk + "forward_ffi", {"f32[64,16]", "f32[16]"},
                   absl::StrCat("(f32[64,16], ", map, ", f32[64,16])")));
    EXPECT_EQ(KindOf(forward, 0, 0), FactorKind::kKept) << map;
    EXPECT_EQ(KindOf(forward, 0, 1), FactorKind::kWhole) << map;
    const Rule backward =
        EngineRule(EngineCall(topk + "backward_ffi",
                              {map, "f32[64,16]", "f32[64,16]"}, "f32[64,16]"));
    EXPECT_EQ(KindOf(backward, 0, 0), FactorKind::kKept) << map;
  }
  const Rule rows =
      EngineRule(EngineCall("te_topk_ffi", {"f32[64,512]", "s32[64]"},
                            "(f32[64,8], s32[64,8], u8[4096])"));
  EXPECT_NE(KindOf(rows, 0, 0), FactorKind::kWhole);
  EXPECT_EQ(rows.results[1][0], rows.operands[0][0]);
  EXPECT_EQ(KindOf(rows, 0, 1), FactorKind::kWhole);
}

TEST(EngineKernels, NormGradient) {
  OneOp op =
      EngineCall("te_norm_backward_ffi",
                 {"f32[4,6,8]", "f32[4,6,8]", "f32[4,6]", "f32[4,6]", "f32[8]"},
                 "(f32[4,6,8], f32[8], f32[8], u8[64])", "", {3});
  op.draws = {{3, PowerOfTwo}};
  EXPECT_EQ(KindOf(EngineRule(op), 0, 0), FactorKind::kReduced);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
  for (const char* mean : {"f32[]", "f32[1]"}) {
    const Rule rms = EngineRule(
        EngineCall("te_norm_backward_ffi",
                   {"f32[4,8]", "f32[4,8]", mean, "f32[4]", "f32[8]"},
                   "(f32[4,8], f32[8], f32[1], u8[64])"));
    EXPECT_EQ(KindOf(rms, 0, 0), FactorKind::kReduced) << mean;
  }
}

TEST(EngineKernels, Activation) {
  OneOp op = EngineCall("te_act_lu_ffi", {"f32[4,6,2,8]", "f32[1]", "f32[1]"},
                        "(f32[4,6,8], f32[8,4,6], f32[1], f32[1], f32[1])", "",
                        {2, 3});
  op.draws = {{2, Integers(0, 0)}};
  const Rule rule = EngineRule(op);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kWhole);
  EXPECT_EQ(KindOf(rule, 0, 3), FactorKind::kReduced);
  EXPECT_EQ(rule.results[1][0], rule.operands[0][3]);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

OneOp EngineActivationGradient(bool has_bias, const std::string& scales) {
  const std::string attributes =
      absl::StrCat("is_dbias = ", has_bias ? "true" : "false");
  OneOp op = EngineCall(
      "te_dact_dbias_quantize_ffi",
      {"f32[4,6,8]", "f32[4,6,2,8]", "f32[1]", "f32[1]"},
      absl::StrCat("(f32[4,6,2,8], f32[1], ", scales, ", f32[1], f32[1], ",
                   has_bias ? "f32[2,8], f32[3,16])" : "f32[1], f32[1])"),
      attributes, {1, 2, 3, 6});
  op.draws = {{3, Integers(0, 0)}};
  if (!has_bias) op.workspaces.insert(5);
  return op;
}

TEST(EngineKernels, ActivationGradient) {
  const OneOp scaled = EngineActivationGradient(false, "f32[1]");
  EXPECT_EQ(KindOf(EngineRule(scaled), 0, 0), FactorKind::kReduced);
  EXPECT_EQ(CheckRule(scaled), absl::OkStatus());
  // Rows are summed up; what no one scales has no maximum.
  OneOp bias = EngineActivationGradient(true, "f32[0]");
  bias.workspaces.insert(4);
  EXPECT_EQ(EngineRule(bias).factors[0].reduction, Reduction::kSum);
  EXPECT_EQ(CheckRule(bias), absl::OkStatus());
  // Both: columns only.
  const OneOp both = EngineActivationGradient(true, "f32[1]");
  EXPECT_EQ(KindOf(EngineRule(both), 0, 0), FactorKind::kWhole);
  EXPECT_EQ(KindOf(EngineRule(both), 0, 2), FactorKind::kReduced);
  EXPECT_EQ(CheckRule(both), absl::OkStatus());
}

TEST(EngineKernels, NamesOfBefore) {
  const struct {
    std::string target;
    std::vector<std::string> operands;
    std::string result;
  } calls[] = {
      {"te_layernorm_forward_ffi",
       {"bf16[4,6,8]", "bf16[8]", "bf16[8]"},
       "(bf16[4,6,8], f32[4,6], f32[4,6], u8[64])"},
      {"te_layernorm_backward_ffi",
       {"bf16[4,6,8]", "bf16[4,6,8]", "f32[4,6]", "f32[4,6]", "bf16[8]"},
       "(bf16[4,6,8], bf16[8], bf16[8], u8[64])"},
      {"te_rmsnorm_forward_ffi",
       {"bf16[4,6,8]", "bf16[8]"},
       "(bf16[4,6,8], f32[4,6], u8[64])"},
      {"te_rmsnorm_backward_ffi",
       {"bf16[4,6,8]", "bf16[4,6,8]", "f32[4,6]", "bf16[8]"},
       "(bf16[4,6,8], bf16[8], u8[64])"},
      {"te_act_lu_ffi", {"bf16[4,2,8]"}, "bf16[4,8]"},
      {"te_dact_lu_ffi", {"bf16[4,8]", "bf16[4,2,8]"}, "bf16[4,2,8]"},
  };
  for (const auto& [target, operands, result] : calls) {
    const Rule rule = EngineRule(EngineCall(target, operands, result));
    EXPECT_NE(KindOf(rule, 0, 0), FactorKind::kWhole) << target;
    EXPECT_EQ(rule.results[0][0], rule.operands[0][0]) << target;
  }
}

TEST(EngineKernels, Casts) {
  const std::string target = "te_dbias_quantize_ffi";
  const std::string rest = ", f32[1], f32[1], f32[1], bf16[1], f32[1])";
  const std::vector<std::vector<std::string>> versions = {
      {"bf16[4,6,8]", "f32[1]"},
      {"bf16[4,6,8]", "f32[1]", "f32[1]"},
      {"bf16[4,6,8]", "f32[1]", "f32[1]", "u32[4]", "f32[1]", "bf16[1,1]"}};
  for (const std::vector<std::string>& operands : versions) {
    for (const char* out :
         {"f8e4m3fn[4,6,8], f8e4m3fn[1]", "f8e4m3fn[4,6,8], f8e4m3fn[8,4,6]",
          "f8e4m3fn[1], f8e4m3fn[8,4,6]"}) {
      const Rule rule =
          EngineRule(EngineCall(target, operands, absl::StrCat("(", out, rest),
                                "flatten_axis = -1 : i64, is_dbias = false"));
      EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kReduced) << out;
      EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kReduced) << out;
    }
  }
  // The axis tells where columns begin, not the sizes.
  const Rule equal = EngineRule(
      EngineCall(target, {"bf16[4,4,4]", "f32[1]"},
                 absl::StrCat("(f8e4m3fn[4,4,4], f8e4m3fn[4,4,4]", rest),
                 "flatten_axis = -2 : i64, is_dbias = false"));
  EXPECT_EQ(equal.results[1][0], equal.operands[0][1]);
  // Sums and maxima of rows.
  const Rule bias = EngineRule(EngineCall(
      target, versions[0],
      "(f8e4m3fn[4,6,8], f8e4m3fn[1], f32[1], f32[1], f32[1], bf16[8], "
      "f32[2,8])",
      "flatten_axis = -1 : i64, is_dbias = true"));
  EXPECT_EQ(KindOf(bias, 0, 0), FactorKind::kWhole);
  EXPECT_EQ(KindOf(bias, 0, 2), FactorKind::kReduced);
}

struct Gemm {
  std::string lhs, rhs, bias, output;
  int64_t lhs_boundary = 1, rhs_boundary = 1;
  bool lhs_transposed = false, rhs_transposed = false;
  std::string lhs_scale = "f32[0]", rhs_scale = "f32[0]";
};

OneOp EngineGemm(const Gemm& gemm) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  return EngineCall(
      "te_gemm_ffi",
      {gemm.lhs, gemm.lhs_scale, gemm.rhs, gemm.rhs_scale, gemm.bias, "f32[0]",
       "f32[1]", "f32[1]"},
      absl::StrCat("(", gemm.output, ", f32[0], f32[0], u8[64])"),
      absl::StrCat(
          "collective_op = 0 : i64, lhs_axis_boundary = ", gemm.lhs_boundary,
          " : i64, lhs_first = ", static_cast<int>(gemm.lhs_transposed),
          " : i64, lhs_transposed = ", flag(gemm.lhs_transposed),
          ", rhs_axis_boundary = ", gemm.rhs_boundary,
          " : i64, rhs_first = ", static_cast<int>(!gemm.rhs_transposed),
          " : i64, rhs_transposed = ", flag(gemm.rhs_transposed),
          ", scaling_mode = 2 : i64"),
      {3});
}

TEST(EngineKernels, Gemm) {
  const OneOp plain = EngineGemm({.lhs = "f32[4,6,8]",
                                  .rhs = "f32[8,2,4]",
                                  .bias = "f32[0]",
                                  .output = "f32[4,6,2,4]",
                                  .lhs_boundary = 2});
  EXPECT_EQ(KindOf(EngineRule(plain), 0, 2), FactorKind::kReduced);
  EXPECT_THAT(CollectivesOf(plain, 0, 0, 2), IsEmpty());
  EXPECT_EQ(LibraryGemmFlops(*Build(plain).instruction), 2 * 24 * 8 * 8);
  EXPECT_EQ(CheckRule(plain), absl::OkStatus());
  // A bias is added once: what is contracted stays whole.
  const OneOp biased = EngineGemm({.lhs = "f32[4,6,8]",
                                   .rhs = "f32[2,4,8]",
                                   .bias = "f32[2,4]",
                                   .output = "f32[4,6,2,4]",
                                   .lhs_boundary = 2,
                                   .rhs_boundary = 2,
                                   .rhs_transposed = true});
  EXPECT_EQ(KindOf(EngineRule(biased), 0, 2), FactorKind::kWhole);
  EXPECT_EQ(EngineRule(biased).operands[4][0],
            EngineRule(biased).results[0][2]);
  EXPECT_EQ(CheckRule(biased), absl::OkStatus());
  // The gradient of weights contracts all rows.
  const OneOp weights = EngineGemm({.lhs = "f32[4,6,8]",
                                    .rhs = "f32[4,6,2]",
                                    .bias = "f32[0]",
                                    .output = "f32[8,2]",
                                    .lhs_boundary = 2,
                                    .rhs_boundary = 2,
                                    .lhs_transposed = true});
  EXPECT_EQ(KindOf(EngineRule(weights), 0, 0), FactorKind::kReduced);
  EXPECT_EQ(KindOf(EngineRule(weights), 0, 1), FactorKind::kReduced);
  EXPECT_EQ(CheckRule(weights), absl::OkStatus());
}

// MXFP8: a scale for 32 elements, in the order of cuBLAS. Forward, and the
// gradient of weights, where rows are contracted.
TEST(EngineKernels, GemmOfBlocks) {
  for (Gemm gemm : {Gemm{.lhs = "f32[2,256,256]",
                   .rhs = "f32[256,256]",
                   .bias = "f32[0]",
                   .output = "f32[2,256,256]",
                   .lhs_boundary = 2,
                   .lhs_scale = "f32[2,256,8]",
                   .rhs_scale = "f32[8,256]"},
                    Gemm{.lhs = "f32[2,256,128]",
                    .rhs = "f32[2,256,256]",
                    .bias = "f32[0]",
                    .output = "f32[128,256]",
                    .lhs_boundary = 2,
                    .rhs_boundary = 2,
                    .lhs_transposed = true,
                    .lhs_scale = "f32[2,8,128]",
                    .rhs_scale = "f32[2,8,256]"}}) {
    OneOp op = EngineGemm(gemm);
    op.draws = {{0, Integers(-2, 2)},
                {1, PowerOfTwo},
                {2, Integers(-2, 2)},
                {3, PowerOfTwo}};
    const Rule rule = EngineRule(op);
    EXPECT_FALSE(rule.is_fallback);
    EXPECT_EQ(rule.operands[0][1].size(), 2);
    EXPECT_EQ(rule.operands[2].back().size(), 2);
    EXPECT_EQ(CheckRule(op, {.count = 4, .meshes = {"a=2,b=2"}}),
              absl::OkStatus());
  }
}

struct GroupedGemm {
  std::string lhs, rhs, output;
  bool contracts_rows = false, rhs_transposed = false;
  int64_t boundary = 2;  // Of the right operand.
  std::string more = "";
};

OneOp EngineGroupedGemm(const GroupedGemm& gemm) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const std::string sizes = "s32[4]";
  const std::string none = "s32[0]";
  OneOp op = EngineCall(
      "te_grouped_gemm_ffi",
      {gemm.lhs, "f32[0]", gemm.rhs, "f32[0]", "f32[0]", sizes, none,
       gemm.contracts_rows ? sizes : none, none,
       gemm.contracts_rows ? none : sizes, none, none},
      absl::StrCat("(", gemm.output, ", u8[64])"),
      absl::StrCat(
          "lhs_is_trans = ", flag(gemm.contracts_rows),
          ", rhs_is_trans = ", flag(gemm.rhs_transposed),
          ", scaling_mode = 0 : i64, lhs_axis_boundary = 1 : i64, "
          "rhs_axis_boundary = ",
          gemm.boundary, " : i64, lhs_left_size = 24 : i64, contracts_rows = ",
          static_cast<int>(gemm.contracts_rows), " : i64, rhs_first = ",
          static_cast<int>(!gemm.rhs_transposed), " : i64", gemm.more),
      {1});
  for (const int32_t operand : {0, 2}) op.draws[operand] = Integers(-2, 2);
  const auto of_groups = [i = 0](Random&) mutable {
    constexpr int kSizes[] = {7, 0, 11, 6};
    return static_cast<double>(kSizes[i++ % 4]);
  };
  for (const int32_t operand : {5, 7, 9}) op.draws[operand] = of_groups;
  return op;
}

TEST(EngineKernels, GroupedGemm) {
  const OneOp forward = EngineGroupedGemm(
      {.lhs = "f32[24,8]", .rhs = "f32[4,8,6]", .output = "f32[24,6]"});
  EXPECT_EQ(KindOf(EngineRule(forward), 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(EngineRule(forward), 0, 1), FactorKind::kReduced);
  EXPECT_THAT(CollectivesOf(forward, 0, 0, 4), IsEmpty());
  EXPECT_EQ(GroupedGemmFlops(*Build(forward).instruction), 2 * 24 * 8 * 6);
  EXPECT_EQ(CheckRule(forward), absl::OkStatus());
  const OneOp transposed = EngineGroupedGemm({.lhs = "f32[24,8]",
                                              .rhs = "f32[4,6,8]",
                                              .output = "f32[24,6]",
                                              .rhs_transposed = true});
  EXPECT_EQ(CheckRule(transposed), absl::OkStatus());
  const OneOp gradient = EngineGroupedGemm({.lhs = "f32[24,8]",
                                            .rhs = "f32[24,6]",
                                            .output = "f32[4,8,6]",
                                            .contracts_rows = true,
                                            .boundary = 1});
  EXPECT_EQ(KindOf(EngineRule(gradient), 0, 0), FactorKind::kReduced);
  EXPECT_EQ(GroupedGemmFlops(*Build(gradient).instruction), 2 * 24 * 8 * 6);
  EXPECT_EQ(CheckRule(gradient), absl::OkStatus());
  // Sizes that the host has are of all rows.
  const OneOp copied =
      EngineGroupedGemm({.lhs = "f32[24,8]",
                         .rhs = "f32[4,8,6]",
                         .output = "f32[24,6]",
                         .more = ", use_async_d2h_group_sizes = true"});
  EXPECT_EQ(KindOf(EngineRule(copied), 0, 0), FactorKind::kWhole);
  EXPECT_EQ(KindOf(EngineRule(copied), 2, 2), FactorKind::kKept);
}

TEST(EngineKernels, OtherGemmsAreWhole) {
  const std::vector<std::string> operands = {"bf16[4,8]", "f32[1]", "bf16[8,2]",
                                             "f32[1]",    "f32[0]", "f32[1]",
                                             "f32[1]"};
  const std::string attributes =
      "config = {lhs_axis_boundary = 1 : i64, lhs_transposed = false, "
      "rhs_axis_boundary = 1 : i64, rhs_transposed = false, collective_op = ";
  const auto gemm = [&](const std::vector<std::string>& with, int64_t op) {
    return EngineRule(EngineCall("te_gemm_v2_ffi", with, "(bf16[4,2], u8[64])",
                                 absl::StrCat(attributes, op, " : i64}")));
  };
  EXPECT_EQ(KindOf(gemm(operands, 0), 0, 1), FactorKind::kReduced);
  EXPECT_TRUE(gemm(operands, 1).is_fallback);
  std::vector<std::string> blocks = operands;
  blocks[1] = "u8[4,1]";
  EXPECT_TRUE(gemm(blocks, 0).is_fallback);
}

}  // namespace
}  // namespace meshwright
