#include "meshwright/hlo/sink_loop_constants.h"

#include <gtest/gtest.h>

#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

constexpr char kLoop[] = R"(
HloModule loop

body {
  p = (s32[4]{0}, s32[4]{0}, s32[4]{0}) parameter(0)
  iota = s32[4]{0} get-tuple-element(p), index=0
  x = s32[4]{0} get-tuple-element(p), index=1
  y = s32[4]{0} get-tuple-element(p), index=2
  z = s32[4]{0} add(x, iota)
  v = s32[4]{0} add(z, y)
  ROOT r = (s32[4]{0}, s32[4]{0}, s32[4]{0}) tuple(iota, v, y)
}

condition {
  q = (s32[4]{0}, s32[4]{0}, s32[4]{0}) parameter(0)
  ROOT go = pred[] constant(false)
}

ENTRY main {
  a = s32[4]{0} parameter(0)
  i = s32[4]{0} iota(), iota_dimension=0
  two = s32[] constant(2)
  twos = s32[4]{0} broadcast(two), dimensions={}
  returned = (s32[4]{0}, s32[4]{0}) tuple(a, twos)
  inlined = s32[4]{0} get-tuple-element(returned), index=1
  even = s32[4]{0} multiply(i, inlined)
  start = (s32[4]{0}, s32[4]{0}, s32[4]{0}) tuple(even, a, a)
  ROOT loop = (s32[4]{0}, s32[4]{0}, s32[4]{0}) while(start), condition=condition, body=body
}
)";

TEST(SinkLoopConstantsTest, ComputesThemInTheBody) {
  absl::StatusOr<Module> module = ReadModuleText(kLoop);
  ASSERT_TRUE(module.ok()) << module.status();
  SinkLoopConstants(*module);
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  for (const auto& computation : module->computations()) {
    if (computation->name() != "body") continue;
    const Instruction& root = *computation->root();
    // What comes next is as it was: the parameter's own elements.
    EXPECT_EQ(root.operands[0]->opcode, Opcode::kGetTupleElement);
    EXPECT_EQ(root.operands[2]->opcode, Opcode::kGetTupleElement);
    const Instruction& z = *root.operands[1]->operands[0];
    ASSERT_EQ(z.operands[1]->opcode, Opcode::kMultiply);
    EXPECT_EQ(z.operands[1]->operands[0]->opcode, Opcode::kIota);
    // Of the tuple only the element.
    EXPECT_EQ(z.operands[1]->operands[1]->opcode, Opcode::kBroadcast);
    EXPECT_EQ(z.operands[0]->opcode, Opcode::kGetTupleElement);
  }
}

}  // namespace
}  // namespace meshwright
