// What stands behind the operands of an instruction in HLO text.
#include "meshwright/hlo/text_attributes.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/hlo/read_text.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A module that ends with this line; x and y are f32[4,8], s is a scalar.
absl::StatusOr<Module> ReadWith(const std::string& line) {
  return ReadModuleText(absl::StrCat(R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT }
id { a = f32[4,8] parameter(0) }
go { a = f32[4,8] parameter(0)
  ROOT t = pred[] constant(true) }
ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  y = f32[4,8]{1,0} parameter(1)
  s = f32[] parameter(2)
  i = s32[4]{0} parameter(3)
  p = pred[] parameter(4)
  t = (f32[4,8]{1,0}, s32[]) parameter(5)
  k = token[] parameter(6)
  u = u64[2]{0} parameter(7)
  z = s32[] parameter(8)
  )",
                                     line, "\n}\n"));
}

// The line as it is printed again; or the error.
std::string PrintedAgain(const std::string& line) {
  const absl::StatusOr<Module> module = ReadWith(line);
  if (!module.ok()) return std::string(module.status().message());
  return ToString(*module->entry()->root());
}

TEST(TextAttributesTest, InstructionsReadAsTheyPrint) {
  for (
      const std::string line : {
          R"(r = f32[4]{0} reduce(x, s), dimensions={1}, to_apply=add)",
          R"(r = f32[8,4]{1,0} transpose(x), dimensions={1,0})",
          R"(r = f32[4,8]{1,0} broadcast(s), dimensions={})",
          R"(r = f32[4,8]{1,0} iota(), iota_dimension=1)",
          R"(r = f32[32]{0} reshape(x), inferred_dimension=0)",
          R"(r = s32[] get-tuple-element(t), index=1)",
          R"(r = f32[4,4]{1,0} dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1})",
          R"(r = f32[4]{0} dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}, operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3)",
          R"(r = f32[4,8]{1,0} convolution(x, y), window={size=3x3 stride=2x1 pad=1_1x0_-2 lhs_dilate=1x2 rhs_dilate=2x1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, feature_group_count=2, batch_group_count=3, operand_precision={high,high})",
          R"(r = f32[4,8]{1,0} convolution(x, y), window={}, dim_labels=fb_io->bf)",
          R"(r = f32[4,8]{1,0} convolution(x, y), window={size=1}, dim_labels=b?0f_0io->b0f)",
          R"(r = f32[2,8]{1,0} reduce-window(x, s), window={size=2x1 stride=2x1}, to_apply=add)",
          R"(r = f32[4,8]{1,0} select-and-scatter(x, y, s), window={size=1x1}, select=less, scatter=add)",
          R"(r = f32[4,8]{1,0} gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, operand_batching_dims={2}, start_indices_batching_dims={3}, index_vector_dim=1, slice_sizes={1,8}, indices_are_sorted=true)",
          R"(r = f32[4,8]{1,0} scatter(x, i, y), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, input_batching_dims={2}, scatter_indices_batching_dims={3}, index_vector_dim=1, indices_are_sorted=true, unique_indices=true, to_apply=add)",
          R"(r = f32[2,8]{1,0} slice(x), slice={[0:4:2], [0:8]})",
          R"(r = f32[1,8]{1,0} dynamic-slice(x, z, z), dynamic_slice_sizes={1,8})",
          R"(r = f32[7,9]{1,0} pad(x, s), padding=1_2_0x0_-1_1)",
          R"(r = f32[] pad(s, s), padding=)",
          R"(r = pred[4,8]{1,0} compare(x, y), direction=GE)",
          R"(r = pred[4,8]{1,0} compare(x, y), direction=EQ, type=TOTALORDER)",
          R"(r = f32[4,8]{1,0} sort(x), dimensions={1}, is_stable=true, to_apply=less)",
          R"(r = (f32[4,3]{1,0}, s32[4,3]{1,0}) topk(x), k=3, largest=true)",
          R"(r = f32[4,8]{1,0} reduce-precision(x), exponent_bits=5, mantissa_bits=10)",
          R"(r = c64[4,5]{1,0} fft(x), fft_type=RFFT, fft_length={8})",
          R"(r = f32[4]{0} rng(s, s), distribution=rng_uniform)",
          R"(r = (u64[2]{0}, u32[4]{0}) rng-bit-generator(u), algorithm=rng_three_fry)",
          R"(r = u64[2]{0} rng-get-and-update-state(), delta=1)",
          R"(r = f32[4,8]{1,0} batch-norm-inference(x, s, s, s, s), epsilon=0.001, feature_index=1)",
          R"(r = f32[4,8]{1,0} triangular-solve(x, y), left_side=true, lower=true, unit_diagonal=true, transpose_a=ADJOINT)",
          R"(r = f32[4,8]{1,0} cholesky(x), lower=true)",
          R"(r = f32[4,8]{1,0} map(x, y), dimensions={0,1}, to_apply=add)",
          R"(r = f32[4,8]{1,0} call(x), to_apply=id, is_composite=true)",
          R"(r = f32[4,8]{1,0} while(x), condition=go, body=id)",
          R"(r = f32[4,8]{1,0} conditional(p, x, x), true_computation=id, false_computation=id)",
          R"(r = f32[4,8]{1,0} conditional(z, x, x, x), branch_computations={id, id, id})",
          R"(r = f32[4,8]{1,0} fusion(x), kind=kLoop, output_to_operand_aliasing={{}: (0, {})}, calls=id)",
          R"(r = ((f32[4,8]{1,0}), f32[4,8]{1,0}) async-start(x), async_execution_thread="w", calls=id)",
          R"(r = f32[4,8]{1,0} custom-call(x, t), window={size=2}, dim_labels=b0f_0io->b0f, custom_call_target="a\"b\n", operand_layout_constraints={f32[4,8]{0,1}, (f32[4,8]{1,0}, s32[])}, custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, output_to_operand_aliasing={{}: (1, {0})}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, called_computations={add, less}, backend_config={"a":{"b":"}"}})",
          R"(r = f32[4,8]{1,0} all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add)",
          R"(r = f32[4,8]{1,0} all-reduce(x), replica_groups={}, to_apply=add)",
          R"(r = f32[4,16]{1,0} all-gather(x), replica_groups={{0,1}}, constrain_layout=true, dimensions={1})",
          R"(r = f32[4,8]{1,0} collective-permute(x), channel_id=3, source_target_pairs={{0,1},{1,0}})",
          R"(r = (f32[4,8]{1,0}, u32[], token[]) send(x, k), channel_id=2)",
          R"(r = f32[4,8]{1,0} negate(x), sharding={devices=[2,2]0,2,1,3})",
          R"(r = f32[4,8]{1,0} negate(x), sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate})",
          R"(r = f32[4,8]{1,0} negate(x), sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual}})",
          R"(r = f32[4,8]{1,0} negate(x), sharding={maximal device=3})",
          R"(r = f32[4,8]{1,0} negate(x), sharding={unreduced})",
          R"(r = (f32[4,8]{1,0}, f32[]) tuple(x, s), sharding={{replicated}, {manual}})",
          R"(r = () tuple(), sharding={})",
          R"(r = f32[4,8]{1,0} negate(x), frontend_attributes={_x.y-z={a = {b}},k="v \"q\""}, control-predecessors={y, s}, metadata={op_type="t" op_name="jit(f)/\"x\"" source_file="/a b.py" source_line=7}, backend_config="plain text")",
      }) {
    EXPECT_EQ(PrintedAgain(line), line);
  }
}

TEST(TextAttributesTest, OtherSpellings) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"r = f32[] all-reduce(s), replica_groups=[2,4]<=[4,2]T(1,0), "
       "to_apply=%add",
       "r = f32[] all-reduce(s), "
       "replica_groups={{0,2,4,6},{1,3,5,7}}, to_apply=add"},
      {"r = f32[] all-reduce(s), replica_groups=mesh['a'=2,'b'=4] "
       "{'a','b':(2)2}, to_apply=%add",
       "r = f32[] all-reduce(s), "
       "replica_groups={{0,1,4,5},{2,3,6,7}}, to_apply=add"},
      {"r = f32[] all-reduce(s), replica_groups=mesh['a'=2,'b'=2], "
       "device_ids=([2,2]T(1,0)) {'b'}, to_apply=%add",
       "r = f32[] all-reduce(s), replica_groups={{0,2},{1,3}}, to_apply=add"},
      {"r = pred[4,8] compare(x, x), direction=LT, order=TOTAL",
       "r = pred[4,8]{1,0} compare(x, x), direction=LT, type=TOTALORDER"},
      {"r = pred[4,8] compare(x, x), direction=LT, order=PARTIAL",
       "r = pred[4,8]{1,0} compare(x, x), direction=LT"},
      {"r = f32[4,8] negate(x), sharding={replicated metadata={op_name=\"a\"}}",
       "r = f32[4,8]{1,0} negate(x), sharding={replicated}"},
      {"r = f32[4,8] dot(x, y), rhs_contracting_dims={}, "
       "operand_precision={HIGH,DEFAULT}",
       "r = f32[4,8]{1,0} dot(x, y), lhs_contracting_dims={}, "
       "rhs_contracting_dims={}, operand_precision={high,default}"},
      {"r = f32[4,8] fft(x), fft_type=77, fft_length={8}",
       "r = f32[4,8]{1,0} fft(x), fft_type=77, fft_length={8}"},
      {"r = f32[4,8] negate(x), origin={{\"a\"}}, statistics={x=1,y=2}",
       "r = f32[4,8]{1,0} negate(x)"},
  };
  for (const auto& [line, want] : cases) EXPECT_EQ(PrintedAgain(line), want);
}

TEST(TextAttributesTest, WhatIsUsualIsSet) {
  const auto root = [](const std::string& line) {
    const absl::StatusOr<Module> module = ReadWith(line);
    EXPECT_TRUE(module.ok()) << module.status();
    return module->entry()->root()->attributes;
  };
  EXPECT_EQ(root("r = pred[] compare(z, z), direction=EQ")->comparison_type,
            "SIGNED");
  EXPECT_EQ(root("r = pred[] compare(s, s), direction=EQ")->comparison_type,
            "FLOAT");
  EXPECT_THAT(root("r = f32[4,8] dot(x, y)")->precision->operand_precision,
              ElementsAre(0, 0));
  EXPECT_EQ(root("r = f32[] custom-call(), custom_call_target=\"t\"")
                ->custom_call_api_version,
            1);
}

TEST(TextAttributesTest, RaggedDotIsCarriedInItsOwnMessage) {
  const std::string line =
      "r = f32[4,16]{1,0} ragged-dot(x, w, i), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}";
  const absl::StatusOr<Module> module =
      ReadWith("w = f32[4,8,16]{2,1,0} constant({...})\n" + line);
  EXPECT_THAT(module.status().message(), HasSubstr("leaves this constant out"));
  const absl::StatusOr<Module> good =
      ReadWith("w = f32[4,8,16]{2,1,0} iota(), iota_dimension=0\n" + line);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(ToString(*good->entry()->root()), line);
  EXPECT_TRUE(RaggedDotNumbersOf(*good->entry()->root()).ok());
}

TEST(TextAttributesTest, Errors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"r = f32[4,8] negate(x), dims={0}", "'dims' is no attribute of negate"},
      {"r = f32[4,8] negate(x), kind=kLoop",
       "'kind' is no attribute of negate"},
      {"r = f32[4,8] exponential(x), result_accuracy={mode=highest}",
       "'result_accuracy' is no attribute of exponential"},
      {"r = f32[4,8] negate(x), metadata={}, metadata={}",
       "'metadata' stands here twice"},
      {"r = f32[4,8] negate(x),", "expected an attribute, got '}'"},
      {"r = f32[4,8] negate(x), sharding", "expected '=', got '}'"},
      {"r = s32[] get-tuple-element(t)", "get-tuple-element needs index="},
      {"r = f32[4,8] while(x), body=id", "while needs condition="},
      {"r = pred[] compare(s, s)", "compare needs direction="},
      {"r = f32[4,8] call(x), to_apply=q", "there is no computation 'q' above"},
      {"r = f32[4,8] convolution(x, y), dim_labels=b0_io->bf",
       "expected labels as in b01f_01io->b01f"},
      {"r = f32[4,8] convolution(x, y), dim_labels=bf0_i1o->bf0", "labels as"},
      {"r = f32[4,8] reduce-window(x, s), window={size=1x2 pad=1_1}",
       "the window's fields differ"},
      {"r = f32[4,8] reduce-window(x, s), window={size=1_2}",
       "expected 1 numbers per dimension, got 2"},
      {"r = f32[4,8] reduce-window(x, s), window={width=1}",
       "'width' is no field of a window"},
      {"r = f32[4,8] pad(x, s), padding=1x2", "expected LOW_HIGH"},
      {"r = f32[4,8] pad(x, s), padding=1_ax2", "joined by '_' and 'x'"},
      {"r = f32[4,8] slice(x), slice={0:4}", "expected '[', got '0'"},
      {"r = f32[4,8] fft(x), fft_type=DFT", "'DFT' is none of FFT, IFFT"},
      {"r = f32[4,8] negate(x), sharding={mesh[a=2]}", "mesh axes"},
      {"r = pred[4,8] compare(x, x), direction=LT, order=ANY",
       "'ANY' is none of TOTAL, PARTIAL"},
      {"r = f32[] all-reduce(s), replica_groups=mesh['a'=2] {'c'}, "
       "to_apply=add",
       "the mesh has no such axis"},
      {"r = f32[] all-reduce(s), replica_groups=mesh['a'=6] {'a':(4)2}, "
       "to_apply=add",
       "mesh axis 0"},
      {"r = f32[4,8] negate(x), sharding={maximal}", "device=NUMBER"},
      {"r = f32[4,8] negate(x), sharding={replicated device=1}",
       "replicated has no devices"},
      {"r = f32[4,8] negate(x), sharding={split}",
       "expected a sharding, got 'split'"},
      {"r = f32[] all-reduce(s), replica_groups=[2,4]<=[9], to_apply=add",
       "2 replica groups of 4 do not hold 9 devices"},
      {"r = f32[] all-reduce(s), replica_groups=[8]<=[8], to_apply=add",
       "expected [GROUPS,SIZE]"},
      {"r = f32[] all-reduce(s), replica_groups=[2,4]<=[8]T(1), to_apply=add",
       "no permutation"},
      {"r = f32[4,8] negate(x), frontend_attributes={=1}",
       "expected the name of a frontend attribute"},
      {"r = f32[4,8] negate(x), metadata={op_name=1}",
       "expected a string in quotes, got '1'"},
  };
  for (const auto& [line, error] : cases) {
    EXPECT_THAT(PrintedAgain(line), HasSubstr(error)) << line;
  }
}

}  // namespace
}  // namespace meshwright
