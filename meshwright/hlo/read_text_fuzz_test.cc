// Damaged HLO text gives a module or one line that says where; nothing else.
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

constexpr absl::string_view kText =
    R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }, entry_computation_layout={(f32[4,8]{1,0})->(f32[4,8]{1,0})}, frontend_attributes={a="b",m={x = {y}}}

FileNames
1 "/train.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=1}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(f32[] %a, f32[] %b)
}

ENTRY %main (x: f32[4,8]) -> (f32[4,8]) {
  %x = f32[4,8]{1,0:T(8,128)} parameter(0), sharding={devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}
  %c = f32[2,3]{0,1} constant({{1, -inf, nan(0x1)}, {4.5e-3, 0x1p-3, 6}})
  %i = (s4[2]{0}, c64[], pred[]) constant(({-8, 7}, (1, 2), true))
  %w = f32[8,8]{1,0} iota(), iota_dimension=1
  %d = f32[4,8]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}, metadata={op_type="dot" op_name="jit(f)/dot" stack_frame_id=1}
  %s = f32[2,8]{1,0} slice(%d), slice={[0:4:2], [0:8]}
  %p = f32[4,8]{1,0} pad(%s, f32[] %z), padding=0_1_1x0_0
  %r = f32[4]{0} reduce(%d, %z), dimensions={1}, to_apply=%add
  %g = f32[4,8]{1,0} all-reduce(%d), channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true, to_apply=%add
  %q = f32[4,8]{1,0} collective-permute(%d), source_target_pairs={{0,1},{1,0}}
  %k = f32[4,8]{1,0} custom-call(%d), custom_call_target="t\"", operand_layout_constraints={f32[4,8]{1,0}}, output_to_operand_aliasing={{}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={"a":{"b":"}"}}
  %o = ((f32[4,8]{1,0}), f32[4,8]{1,0}, s32[]) negate-start(%d), async_execution_thread="w"
  %e = f32[4,8]{1,0} negate-done(%o)
  ROOT %t = (f32[4,8]{1,0}) tuple(/*index=0*/%e), control-predecessors={%k}, frontend_attributes={k="v"}
}
)";

std::string WithZero() {
  std::string text(kText);
  const size_t place = text.find("  %c = ");
  return text.insert(place, "  %z = f32[] constant(0)\n");
}

void Check(const std::string& text) {
  const absl::StatusOr<Module> module = ReadModuleText(text);
  if (module.ok()) {
    // What was read can be verified; what verifies can be printed and read.
    if (!Verify(*module).ok()) return;
    const absl::StatusOr<Module> again = ReadModuleText(ToString(*module));
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
    return;
  }
  const absl::string_view message = module.status().message();
  ASSERT_TRUE(absl::StartsWith(message, "line ")) << message;
  ASSERT_FALSE(absl::StrContains(message, '\n')) << message;
}

TEST(ReadTextFuzzTest, TheTextItselfIsGood) {
  const absl::StatusOr<Module> module = ReadModuleText(WithZero());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
}

TEST(ReadTextFuzzTest, EveryPrefix) {
  const std::string text = WithZero();
  for (size_t size = 0; size < text.size(); ++size) {
    Check(text.substr(0, size));
  }
}

TEST(ReadTextFuzzTest, EveryByteLeftOut) {
  const std::string text = WithZero();
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged.erase(i, 1);
    Check(damaged);
  }
}

TEST(ReadTextFuzzTest, RandomEdits) {
  const std::string text = WithZero();
  const std::vector<std::string> pieces = {
      "{",         "}",     "(",      ")",     "[",
      "]",         "\"",    ",",      "=",     ":",
      "->",        "<=",    "...",    "/*",    "*/",
      "//",        "%",     "-",      "9",     "99999999999999999999",
      "nan",       "ROOT ", "ENTRY ", "f32[]", "(((((((((",
      "{{{{{{{{{", "x",     "\\",     "\n",    std::string(1, '\0'),
      "\xff",      "-1",    "inf",    "1e999", "dimensions={0}, "};
  std::mt19937 random(7);
  const auto below = [&](size_t bound) { return random() % bound; };
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (size_t edit = 1 + below(3); edit > 0; --edit) {
      const size_t place = below(damaged.size());
      const size_t length = below(4) == 0 ? below(40) : below(2);
      const std::string& piece = pieces[below(pieces.size())];
      switch (below(4)) {
        case 0:
          damaged.erase(place, length);
          break;
        case 1:
          damaged.insert(place, piece);
          break;
        case 2:
          damaged.replace(place, length, piece);
          break;
        default:  // A stretch from elsewhere.
          damaged.insert(place, damaged.substr(below(damaged.size()), length));
      }
    }
    Check(damaged);
    if (HasFatalFailure()) return;
  }
}

TEST(ReadTextFuzzTest, DeepAndLongTexts) {
  for (const char* piece : {"(", "{", "[", "{{", "\"", "/*", "%x", ",", "c {",
                            "c {x=f32[]constant(", "c {x=(", "c{x=f32[]a("}) {
    std::string text = "HloModule m ";
    for (int i = 0; i < 100000; ++i) text += piece;
    Check(text);
  }
}

}  // namespace
}  // namespace meshwright
