#include "meshwright/hlo/scan_numbers.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Text(const std::string& attributes, const std::string& carry) {
  return "HloModule sums\n\n"
         "step {\n"
         "  x = f32[8]{0} parameter(0)\n"
         "  c = f32[8]{0} parameter(1)\n"
         "  y = f32[8]{0} add(x, c)\n"
         "  ROOT both = (f32[8]{0}, f32[8]{0}) tuple(y, y)\n"
         "}\n\n"
         "ENTRY main {\n"
         "  a = f32[8,64]{1,0} parameter(0)\n"
         "  b = " +
         carry +
         " parameter(1)\n"
         "  ROOT s = (f32[8,64]{1,0}, f32[8]{0}) scan(a, b), dimensions={1}" +
         attributes + ", to_apply=step\n}\n";
}

const Instruction& ScanOf(const Module& module) {
  return *module.entry()->root();
}

TEST(ScanNumbersTest, TellsInputsFromWhatIsCarried) {
  const auto module = ReadModuleText(
      Text(", is_reverse=true, is_associative=true, num_carries=1", "f32[8]"));
  ASSERT_TRUE(module.ok()) << module.status();
  const auto numbers = ScanNumbersOf(ScanOf(*module));
  ASSERT_TRUE(numbers.has_value());
  EXPECT_EQ(numbers->dimension, 1);
  EXPECT_EQ(numbers->inputs, 1);
  EXPECT_EQ(numbers->outputs, 1);
  EXPECT_THAT(numbers->slice, ElementsAre(8));
  EXPECT_TRUE(numbers->is_reverse);
  EXPECT_THAT(ToString(*module),
              HasSubstr("dimensions={1}, is_reverse=true, is_associative=true, "
                        "num_carries=1, to_apply="));
}

TEST(ScanNumbersTest, IsForwardUnlessItSaysSo) {
  const auto module = ReadModuleText(Text(", num_carries=1", "f32[8]"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_FALSE(ScanNumbersOf(ScanOf(*module))->is_reverse);
}

TEST(ScanNumbersTest, NothingOfOtherSizes) {
  const auto module = ReadModuleText(Text(", num_carries=1", "f32[4]"));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_FALSE(ScanNumbersOf(ScanOf(*module)).has_value());
}

}  // namespace
}  // namespace meshwright
