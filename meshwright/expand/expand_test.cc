#include "meshwright/expand/expand.h"

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Rows are added to those of a table: the gradient of an embedding.
constexpr char kEmbeddingGradient[] = R"(HloModule embedding

add {
  a = TYPE[] parameter(0)
  b = TYPE[] parameter(1)
  ROOT sum = TYPE[] COMBINER(a, b)
}

ENTRY main {
  table = TYPE[ROWS,8]{1,0} parameter(0)
  ids = s32[64,1]{1,0} parameter(1)
  rows = TYPE[64,8]{1,0} parameter(2)
  ROOT grad = TYPE[ROWS,8]{1,0} scatter(table, ids, rows), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,UNIQUE to_apply=add
}
)";

std::string Expanded(const std::string& platform, const std::string& type,
                     const std::string& combiner = "add",
                     const std::string& unique = "",
                     const std::string& rows = "512") {
  const std::string text =
      absl::StrReplaceAll(kEmbeddingGradient, {{"TYPE", type},
                                               {"COMBINER", combiner},
                                               {"UNIQUE", unique},
                                               {"ROWS", rows}});
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(ExpandFor(platform, *module).ok());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return ToString(*module);
}

TEST(ExpandTest, GpusAddHalvesInSingles) {
  for (const std::string type : {"bf16", "f16"}) {
    const std::string text = Expanded("cuda", type);
    EXPECT_THAT(text, HasSubstr("= f32[512,8]{1,0} scatter("));
    EXPECT_THAT(text, HasSubstr("= f32[64,8]{1,0} convert(rows)"));
    EXPECT_THAT(text, HasSubstr("= " + type + "[512,8]{1,0} convert("));
  }
}

TEST(ExpandTest, OtherScattersStay) {
  const std::string in_f32 = "= f32[512,8]{1,0} scatter(";
  const std::string in_bf16 = "= bf16[512,8]{1,0} scatter(";
  EXPECT_THAT(Expanded("cuda", "f32"), HasSubstr(in_f32));
  EXPECT_THAT(Expanded("cpu", "bf16"), HasSubstr(in_bf16));
  // No sums, and no two updates that meet.
  EXPECT_THAT(Expanded("cuda", "bf16", "maximum"), HasSubstr(in_bf16));
  EXPECT_THAT(Expanded("cuda", "bf16", "add", " unique_indices=true,"),
              HasSubstr(in_bf16));
}

TEST(ExpandTest, GpusAddUpFewRowsEachByItself) {
  for (const std::string type : {"bf16", "f32"}) {
    const std::string text = Expanded("cuda", type, "add", "", "2");
    EXPECT_THAT(text, HasSubstr("= f32[2,8]{1,0} reduce("));
    EXPECT_THAT(text, Not(HasSubstr("scatter(")));
  }
  EXPECT_THAT(Expanded("cuda", "f32", "maximum", "", "2"),
              HasSubstr("scatter("));
  EXPECT_THAT(Expanded("cpu", "bf16", "add", "", "2"), HasSubstr("scatter("));
}

// SUM reduces f32[BATCH,8,16] to RESULT.
constexpr char kOuterSum[] = R"(HloModule sum

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY main {
  x = f32[BATCH,8,16]{2,1,0} parameter(0)
  zero = f32[] constant(0)
  y = f32[BATCH,8,16]{2,1,0} exponential(x)
  ROOT total = RESULT reduce(y, zero), dimensions={DIMENSIONS}, to_apply=add
}
)";

std::string ExpandedSum(const std::string& platform, const std::string& batch,
                        const std::string& result,
                        const std::string& dimensions) {
  absl::StatusOr<Module> module = ReadModuleText(absl::StrReplaceAll(
      kOuterSum,
      {{"BATCH", batch}, {"RESULT", result}, {"DIMENSIONS", dimensions}}));
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(ExpandFor(platform, *module).ok());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  const std::string once = ToString(*module);
  EXPECT_TRUE(ExpandFor(platform, *module).ok());
  EXPECT_EQ(ToString(*module), once);
  return once;
}

TEST(ExpandTest, WhatIsSummedOverTheBatchStaysRowMajor) {
  const std::string rows = "f32[8,16]{1,0}";
  EXPECT_THAT(ExpandedSum("cuda", "32", rows, "0"),
              HasSubstr("f32[32,8,16]{2,1,0} custom-call(y), "
                        "custom_call_target=\"LayoutConstraint\", "
                        "operand_layout_constraints={f32[32,8,16]{2,1,0}}"));
  // The middle dimension, between a batch and columns that are kept.
  EXPECT_THAT(ExpandedSum("cuda", "4", "f32[4,16]{1,0}", "1"),
              Not(HasSubstr("LayoutConstraint")));  // 8 elements.
  // Columns: the result has no layout that XLA would pass on.
  EXPECT_THAT(ExpandedSum("cuda", "32", "f32[16]{0}", "0,1"),
              Not(HasSubstr("LayoutConstraint")));
  EXPECT_THAT(ExpandedSum("cuda", "32", "f32[32,8]{1,0}", "2"),
              Not(HasSubstr("LayoutConstraint")));  // Rows already.
  EXPECT_THAT(ExpandedSum("cuda", "31", rows, "0"),
              Not(HasSubstr("LayoutConstraint")));
  EXPECT_THAT(ExpandedSum("cpu", "32", rows, "0"),
              Not(HasSubstr("LayoutConstraint")));
}

// The parts of a gradient, for its optimizer or for a matmul.
constexpr char kInnerGather[] = R"(HloModule gather

ENTRY main {
  part = f32[8,2]{1,0} parameter(0)
  old = f32[8,8]{1,0} parameter(1)
  all = f32[8,8]{1,0} all-gather(part), replica_groups={{0,1,2,3}}, dimensions={1}
  next = f32[8,8]{1,0} USE
  ROOT results = (f32[8,8]{1,0}) tuple(next)
}
)";

std::string ExpandedGather(const std::string& platform,
                           const std::string& use) {
  absl::StatusOr<Module> module =
      ReadModuleText(absl::StrReplaceAll(kInnerGather, {{"USE", use}}));
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(ExpandFor(platform, *module).ok());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return ToString(*module);
}

TEST(ExpandTest, StateIsNotTransposedForAGather) {
  const std::string inner = "= f32[8,8]{1,0} all-gather(";
  const std::string text = ExpandedGather("cuda", "add(old, all)");
  EXPECT_THAT(text, HasSubstr("= f32[4,8,2]{2,1,0} all-gather("));
  EXPECT_THAT(text, HasSubstr("= f32[8,4,2]{2,1,0} transpose("));
  EXPECT_THAT(ExpandedGather("cpu", "add(old, all)"), HasSubstr(inner));
  // Matmuls take either layout.
  EXPECT_THAT(ExpandedGather("cuda",
                             "dot(old, all), lhs_contracting_dims={1}, "
                             "rhs_contracting_dims={0}"),
              HasSubstr(inner));
}

// The call of a library for matrices[3,4,4], as jaxlib makes it.
std::string ExpandedCall(const std::string& target, const std::string& result,
                         const std::string& config) {
  absl::StatusOr<Module> module = ReadModuleText(absl::StrReplaceAll(
      R"(HloModule factored

ENTRY main {
  matrices = f32[3,4,4]{1,2,0} parameter(0)
  ROOT factors = RESULT custom-call(matrices), custom_call_target="TARGET", api_version=API_VERSION_TYPED_FFI, backend_config={CONFIG}
}
)",
      {{"TARGET", target}, {"RESULT", result}, {"CONFIG", config}}));
  EXPECT_TRUE(module.ok()) << module.status();
  const absl::Status expanded = ExpandFor("cpu", *module);
  if (!expanded.ok()) return std::string(expanded.message());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return ToString(*module);
}

TEST(ExpandTest, FactorisationsOfLibrariesAreXlas) {
  for (const std::string call : {"lapack_spotrf_ffi|uplo = 76 : ui8",
                                 "cusolver_potrf_ffi|lower = true"}) {
    const std::vector<std::string> parts = absl::StrSplit(call, '|');
    EXPECT_THAT(
        ExpandedCall(parts[0], "(f32[3,4,4]{1,2,0}, s32[3]{0})", parts[1]),
        HasSubstr("cholesky(matrices), lower=true"));
  }
  EXPECT_THAT(ExpandedCall("lapack_sgeqrf_ffi",
                           "(f32[3,4,4]{1,2,0}, f32[3,4]{1,0})", ""),
              HasSubstr("custom_call_target=\"Qr\""));
  EXPECT_THAT(ExpandedCall("lapack_ssyevd_ffi",
                           "(f32[3,4,4]{1,2,0}, f32[3,4]{1,0}, s32[3]{0})",
                           "mode = 86 : ui8, uplo = 85 : ui8"),
              AllOf(HasSubstr("custom_call_target=\"Eigh\""),
                    HasSubstr("backend_config=\"0,1,")));
}

TEST(ExpandTest, LuIsALoopOverColumns) {
  const std::string text = ExpandedCall(
      "lapack_sgetrf_ffi", "(f32[3,4,4]{1,2,0}, s32[3,4]{1,0}, s32[3]{0})", "");
  EXPECT_THAT(text, HasSubstr("while("));
  EXPECT_THAT(text, Not(HasSubstr("lapack")));
}

TEST(ExpandTest, WhatNobodyHasIsNamed) {
  EXPECT_THAT(ExpandedCall("lapack_sgesdd_ffi",
                           "(f32[3,4,4]{1,2,0}, f32[3,4]{1,0}, s32[3]{0})", ""),
              HasSubstr("factors: calls lapack_sgesdd_ffi"));
}

}  // namespace
}  // namespace meshwright
