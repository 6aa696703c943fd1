// What of a shard_map region may be run for each micro-batch.
#include "meshwright/microbatch/region_split.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/microbatch/micro_batches.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

// x f32[8,16] over data=2, w f32[16,16] over model=2 by columns; the body gives
// y, f32[4,16] on a device.
constexpr char kStep[] = R"(
HloModule step

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

body {
  x = f32[4,16]{1,0} parameter(0)
  w = f32[16,8]{1,0} parameter(1)
  zero = f32[] constant(0)
  four = u32[] constant(2)
  device = u32[] partition-id()
  model = u32[] remainder(device, four)
  data = u32[] divide(device, four)
  h = f32[4,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
BODY
}

ENTRY main {
  x = f32[8,16]{1,0} parameter(0)
  w = f32[16,16]{1,0} parameter(1)
  region = RESULT custom-call(x, w), custom_call_target="mw.island", called_computations={body}, backend_config="data=2,model=2: [data,-], [-,model] -> SPEC", metadata={op_name="jit(step)/shard_map"}
  zero = f32[] constant(0)
  loss = f32[] reduce(region, zero), dimensions={DIMENSIONS}, to_apply=add
  ROOT out = (f32[]) tuple(loss)
}
)";

struct RegionCase {
  const char* name;
  const char* body;
  const char* spec = "[data,model]";
  const char* result = "f32[8,16]{1,0}";
  const char* why = "";  // It is refused.
};

class RegionSplitTest : public testing::TestWithParam<RegionCase> {};

TEST_P(RegionSplitTest, RunsOrSaysWhyNot) {
  const RegionCase& test = GetParam();
  const std::string text = absl::StrReplaceAll(
      kStep,
      {{"BODY", test.body},
       {"SPEC", test.spec},
       {"RESULT", test.result},
       {"DIMENSIONS", std::string(test.result).find(',') < 7 ? "0,1" : "0"}});
  const absl::StatusOr<Module> module = ReadModuleText(text);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::StatusOr<MicroBatched> split = SplitMicroBatches(
      *module, {.count = 2, .batch_dims = {int64_t{0}, kNoBatch}});
  if (*test.why != '\0') {
    EXPECT_THAT(split.status().message(),
                testing::AllOf(testing::StartsWith(
                                   "shard_map region jit(step)/shard_map is "
                                   "written for the whole batch: "),
                               testing::HasSubstr(test.why)));
    return;
  }
  ASSERT_TRUE(split.ok()) << split.status();
  const auto islands = IslandsIn(split->phases[0].module);
  ASSERT_EQ(islands.size(), 1);
  const absl::StatusOr<Island> island = IslandOf(*islands[0]);
  ASSERT_TRUE(island.ok()) << island.status();
  // Half of the rows on each device.
  EXPECT_EQ(islands[0]->called[0]->Parameters()[0]->shape.dimensions[0], 2);
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, RegionSplitTest,
    testing::ValuesIn<RegionCase>({
        {"RowByRow", "ROOT y = f32[4,8]{1,0} tanh(h)"},
        {"SummedOverOtherAxes",
         "ROOT y = f32[4,8]{1,0} all-reduce(h), replica_groups={{0,1},{2,3}}, "
         "to_apply=add",
         "[data,-]", "f32[8,8]{1,0}"},
        {"GatheredAlongOtherAxes",
         "ROOT y = f32[4,16]{1,0} all-gather(h), replica_groups={{0,1},{2,3}}, "
         "dimensions={1}",
         "[data,-]"},
        {"SumsOfAllRows",
         "r = f32[8]{0} reduce(h, zero), dimensions={0}, to_apply=add\n"
         "ROOT y = f32[8]{0} all-reduce(r), replica_groups={{0,2},{1,3}}, "
         "to_apply=add",
         "[model]", "f32[16]{0}"},
        {"SumsOfEachDevicesRows",
         "ROOT y = f32[8]{0} reduce(h, zero), dimensions={0}, to_apply=add",
         "[(data,model)]", "f32[32]{0}", "not summed over data"},
        {"PermutedAlongOtherAxes",
         "ROOT y = f32[4,8]{1,0} collective-permute(h), "
         "source_target_pairs={{0,1},{1,0},{2,3},{3,2}}"},
        {"PermutedAlongTheBatch",
         "ROOT y = f32[4,8]{1,0} collective-permute(h), "
         "source_target_pairs={{0,2},{2,0},{1,3},{3,1}}",
         "[data,model]", "f32[8,16]{1,0}",
         "y communicates along data, over which the batch is split"},
        {"PermutedOnSomeDevicesOfTheBatch",
         "ROOT y = f32[4,8]{1,0} collective-permute(h), "
         "source_target_pairs={{0,1},{1,0}}",
         "[data,model]", "f32[8,16]{1,0}",
         "y communicates along data, over which the batch is split"},
        {"OtherNumbersOnOtherAxes",
         "f = f32[] convert(model)\n"
         "b = f32[4,8]{1,0} broadcast(f), dimensions={}\n"
         "ROOT y = f32[4,8]{1,0} multiply(h, b)"},
        {"OtherNumbersAlongTheBatch",
         "f = f32[] convert(data)\n"
         "b = f32[4,8]{1,0} broadcast(f), dimensions={}\n"
         "ROOT y = f32[4,8]{1,0} multiply(h, b)",
         "[data,model]", "f32[8,16]{1,0}",
         "y depends on which device along data has which rows"},
        {"NumbersOfRows",
         "b = f32[4,8]{1,0} iota(), iota_dimension=0\n"
         "ROOT y = f32[4,8]{1,0} multiply(h, b)",
         "[data,model]", "f32[8,16]{1,0}",
         "y depends on which row of a device it works on"},
        {"NumbersOfColumns",
         "b = f32[4,8]{1,0} iota(), iota_dimension=1\n"
         "ROOT y = f32[4,8]{1,0} multiply(h, b)"},
        {"RowsWithOneAnother",
         "s = f32[4,4]{1,0} dot(h, h), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={1}\n"
         "ROOT y = f32[4,8]{1,0} dot(s, h), lhs_contracting_dims={1}, "
         "rhs_contracting_dims={0}",
         "[data,model]", "f32[8,16]{1,0}", "works across micro-batches"},
        {"ASumThatIsNeededInside",
         "r = f32[8]{0} reduce(h, zero), dimensions={0}, to_apply=add\n"
         "t = f32[8]{0} all-reduce(r), replica_groups={{0,2},{1,3}}, "
         "to_apply=add\n"
         "ROOT y = f32[8]{0} tanh(t)",
         "[model]", "f32[16]{0}", "y needs a sum over all micro-batches"},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
