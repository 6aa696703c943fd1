#include "meshwright/expand/expand.h"

#include <string>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

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
  table = TYPE[2,8]{1,0} parameter(0)
  ids = s32[64,1]{1,0} parameter(1)
  rows = TYPE[64,8]{1,0} parameter(2)
  ROOT grad = TYPE[2,8]{1,0} scatter(table, ids, rows), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,UNIQUE to_apply=add
}
)";

std::string Expanded(const std::string& platform, const std::string& type,
                     const std::string& combiner = "add",
                     const std::string& unique = "") {
  const std::string text = absl::StrReplaceAll(
      kEmbeddingGradient,
      {{"TYPE", type}, {"COMBINER", combiner}, {"UNIQUE", unique}});
  absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_TRUE(ExpandFor(platform, *module).ok());
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return ToString(*module);
}

TEST(ExpandTest, GpusAddHalvesInSingles) {
  for (const std::string type : {"bf16", "f16"}) {
    const std::string text = Expanded("cuda", type);
    EXPECT_THAT(text, HasSubstr("= f32[2,8]{1,0} scatter("));
    EXPECT_THAT(text, HasSubstr("= f32[64,8]{1,0} convert(rows)"));
    EXPECT_THAT(text, HasSubstr("= " + type + "[2,8]{1,0} convert("));
  }
}

TEST(ExpandTest, OtherScattersStay) {
  const std::string in_f32 = "= f32[2,8]{1,0} scatter(";
  const std::string in_bf16 = "= bf16[2,8]{1,0} scatter(";
  EXPECT_THAT(Expanded("cuda", "f32"), HasSubstr(in_f32));
  EXPECT_THAT(Expanded("cpu", "bf16"), HasSubstr(in_bf16));
  // No sums, and no two updates that meet.
  EXPECT_THAT(Expanded("cuda", "bf16", "maximum"), HasSubstr(in_bf16));
  EXPECT_THAT(Expanded("cuda", "bf16", "add", " unique_indices=true,"),
              HasSubstr(in_bf16));
}

}  // namespace
}  // namespace meshwright
