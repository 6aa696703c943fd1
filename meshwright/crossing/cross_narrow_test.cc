// Collectives between processes of types narrower than a byte, and of
// f8e8m0fnu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/crossing/cross_workers_for_test.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

// What one process makes of it in a type that all compilers know: FORM is that
// type, or NARROW itself.
constexpr absl::string_view kMoves = R"(
HloModule moves
ENTRY main {
  p = f32[8,4] parameter(0)
  n = NARROW[8,4] convert(p)
  x = FORM[8,4] convert(n)
  gathered = FORM[32,4] all-gather(x), replica_groups={{0,1,2,3}}, dimensions={0}
  exchanged = FORM[8,4] all-to-all(x), replica_groups={{0,1,2,3}}, dimensions={1}
  moved = FORM[8,4] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  a = f32[32,4] convert(gathered)
  b = f32[8,4] convert(exchanged)
  c = f32[8,4] convert(moved)
  ROOT all = (f32[32,4], f32[8,4], f32[8,4]) tuple(a, b, c)
})";

// Of two arrays in one call, too.
constexpr absl::string_view kReductions = R"(
HloModule reductions
add {
  a1 = FORM[] parameter(0)
  b1 = FORM[] parameter(1)
  ROOT c1 = FORM[] add(a1, b1)
}
multiply {
  a2 = FORM[] parameter(0)
  b2 = FORM[] parameter(1)
  ROOT c2 = FORM[] multiply(a2, b2)
}
most {
  a3 = FORM[] parameter(0)
  b3 = FORM[] parameter(1)
  ROOT c3 = FORM[] maximum(a3, b3)
}
ENTRY main {
  p = f32[8,4] parameter(0)
  n = NARROW[8,4] convert(p)
  x = FORM[8,4] convert(n)
  t = FORM[4,8] transpose(x), dimensions={1,0}
  sums = (FORM[8,4], FORM[4,8]) all-reduce(x, t), replica_groups={{0,1,2,3}}, to_apply=add
  sum = FORM[8,4] get-tuple-element(sums), index=0
  other = FORM[4,8] get-tuple-element(sums), index=1
  product = FORM[8,4] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=multiply
  most = FORM[8,4] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=most
  scattered = FORM[2,4] reduce-scatter(x), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=add
  an = NARROW[8,4] convert(sum)
  bn = NARROW[8,4] convert(product)
  cn = NARROW[8,4] convert(most)
  dn = NARROW[2,4] convert(scattered)
  en = NARROW[4,8] convert(other)
  a = f32[8,4] convert(an)
  b = f32[8,4] convert(bn)
  c = f32[8,4] convert(cn)
  d = f32[2,4] convert(dn)
  e = f32[4,8] convert(en)
  ROOT all = (f32[8,4], f32[8,4], f32[8,4], f32[2,4], f32[4,8]) tuple(a, b, c, d, e)
})";

Module Read(absl::string_view text, ElementType form, ElementType narrow) {
  auto module = ReadModuleText(absl::StrReplaceAll(
      text, {{"FORM", Name(form)}, {"NARROW", Name(narrow)}}));
  EXPECT_TRUE(module.ok()) << module.status();
  module->Finish();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  return *std::move(module);
}

std::vector<float> FloatsOf(const std::string& bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

class CrossNarrowTest : public testing::TestWithParam<ElementType> {
 protected:
  void ExpectEqual(absl::string_view text) {
    const ElementType type = GetParam();
    const Module reference = Read(
        text, IsInteger(type) ? ElementType::kS32 : ElementType::kF32, type);
    const Module module = Read(text, type, type);
    DeviceArrays inputs;
    for (int device = 0; device < 4; ++device) {
      std::vector<float> values(32);
      for (int i = 0; i < 32; ++i) {
        const int drawn = (device * 5 + i * 3 + i / 7) % 8;
        values[i] = type == ElementType::kF8E8M0FNU
                        ? std::ldexp(1.0f, drawn - 4)
                        : static_cast<float>(drawn - 4) / 2;
      }
      inputs.push_back({std::string(reinterpret_cast<char*>(values.data()),
                                    values.size() * sizeof(float))});
    }
    const auto wanted = RunAlone(reference, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    const auto outputs = RunOnWorkers(module, {0, 1, 2, 2}, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (size_t device = 0; device < inputs.size(); ++device) {
      for (size_t i = 0; i < (*wanted)[device].size(); ++i) {
        EXPECT_EQ(FloatsOf((*outputs)[device][i]),
                  FloatsOf((*wanted)[device][i]))
            << "output " << i << " of device " << device;
      }
    }
  }
};

TEST_P(CrossNarrowTest, Moves) { ExpectEqual(kMoves); }

TEST_P(CrossNarrowTest, Reductions) { ExpectEqual(kReductions); }

INSTANTIATE_TEST_SUITE_P(Types, CrossNarrowTest,
                         testing::Values(ElementType::kS4, ElementType::kU4,
                                         ElementType::kS2, ElementType::kU2,
                                         ElementType::kF4E2M1FN,
                                         ElementType::kF8E8M0FNU),
                         [](const auto& test) {
                           return std::string(Name(test.param));
                         });

}  // namespace
}  // namespace meshwright
