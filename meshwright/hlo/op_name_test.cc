#include "meshwright/hlo/op_name.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(ParseOpNameTest, KeepsScopesAndOperation) {
  const struct {
    const char* op_name;
    const char* shown;
  } kCases[] = {
      {"jit(step)/jvp(blocks/3)/attn/qkv/dot_general",
       "blocks/3/attn/qkv/dot_general"},
      {"jit(step)/transpose(jvp(blocks/3))/attn/qkv/dot_general",
       "blocks/3/attn/qkv/dot_general (backward)"},
      {"jit(step)/jit(main)/jvp(blocks/0)/attn/jit(silu)/mul",
       "blocks/0/attn/silu/mul"},
      {"jit(step)/jit(main)/jvp(Model)/layers_0/attn/pjit",
       "Model/layers_0/attn/pjit"},
      {"jit(step)/jvp()/while/body/closed_call/blk/blk/checkpoint/attn/dot",
       "blk/attn/dot"},
      {"jit(step)/transpose(jvp())/while/body/blk/checkpoint/"
       "rematted_computation/attn/dot",
       "blk/attn/dot (recomputed)"},
      {"jit(step)/jvp(vmap(head))/add", "head/add"},
      {"jit(step)/blocks/0/0/add", "blocks/0/0/add"},
      {"jit(step)/transpose(jvp())/dot_general", "dot_general (backward)"},
      {"jit(step)/transpose", "transpose"},
      {"encoder/layer_0/MatMul", "encoder/layer_0/MatMul"},
      {"jit(step)/f(x)/add", "f(x)/add"},
      {"ps[0]['a/b']", "ps[0]['a/b']"},
      {"((", "(("},
      {"a)/b", "a)/b"},
      {"jit(step)", ""},
      {"", ""},
  };
  for (const auto& [op_name, shown] : kCases) {
    EXPECT_EQ(ParseOpName(op_name).ToString(), shown) << op_name;
  }
}

}  // namespace
}  // namespace meshwright
