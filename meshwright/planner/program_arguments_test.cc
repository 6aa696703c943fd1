#include "meshwright/planner/program_arguments.h"

#include "gtest/gtest.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

// The gradients read the data `x` again, the weight `w` and the residual `y`.
constexpr char kOneLayer[] = R"(
HloModule one_layer, input_output_alias={ {0}: (0, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  w = f32[8,8]{1,0} parameter(0)
  x = f32[16,8]{1,0} parameter(1)
  h = f32[16,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[16,8]{1,0} tanh(h)
  zero = f32[] constant(0)
  loss = f32[] reduce(y, zero), dimensions={0,1}, to_apply=sum
  dy = f32[16,8]{1,0} dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  dw = f32[8,8]{1,0} dot(x, dy), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  next = f32[8,8]{1,0} subtract(w, dw)
  ROOT out = (f32[8,8]{1,0}, f32[]) tuple(next, loss)
})";

TEST(CountArguments, OfOneLayer) {
  const auto module = ReadModuleText(kOneLayer);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto step = TakeApart(*module, AnalyzeRoles(*module), {.count = 2});
  ASSERT_TRUE(step.ok()) << step.status();
  const ProgramArguments count = CountArguments(*step);
  EXPECT_EQ(count.forward, 2 + 1 + 2);  // w, x; y; the sum of the loss.
  EXPECT_EQ(count.input_grad, 1 + 2);   // y; w, x.
  EXPECT_EQ(count.weight_grad, 1 + 2);  // y; the sum of dw.
}

}  // namespace
}  // namespace meshwright
