// Whole modules as HLO text: structure, headers, round trips and errors. The
// attributes of single instructions are in text_attributes_test.cc.
#include "meshwright/hlo/read_text.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/source_line.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string Error(absl::string_view text) {
  return std::string(ReadModuleText(text).status().message());
}

std::string Again(absl::string_view text) {
  const absl::StatusOr<Module> module = ReadModuleText(text);
  return module.ok() ? ToString(*module)
                     : std::string(module.status().message());
}

TEST(ReadTextTest, ModulesOfTheRepositoryComeBack) {
  int count = 0;
  const std::string folder = std::string(MW_SOURCE_DIR) + "/testdata";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(".hlo.pb.zst")) continue;
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const absl::StatusOr<Module> module = ReadModule(bytes.str());
    ASSERT_TRUE(module.ok()) << module.status();
    const std::string text = ToString(*module);
    const absl::StatusOr<Module> again = ReadModuleText(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ToString(*again), text);
    EXPECT_EQ(Verify(*again), absl::OkStatus());
    EXPECT_EQ(again->instruction_count(), module->instruction_count());
    EXPECT_TRUE(WriteModule(*again).ok());
    ++count;
  }
  EXPECT_GE(count, 9);
}

constexpr absl::string_view kSmall =
    R"(HloModule jit_f, is_scheduled=true, )"
    R"(input_output_alias={ {0}: (0, {}, )"
    R"(must-alias), {1}: (2, {1}, )"
    R"(may-alias) }, buffer_donor={ (1, {}) }, )"
    R"(entry_computation_layout={(f32[4]{0}, )"
    R"(f32[4,2]{0,1}, (s32[], f32[2]{0}))->)"
    R"((f32[4]{0}, f32[2]{0})}, )"
    R"(frontend_attributes={a="b \"c\"",m={x = {y}}}

double.1 {
  p.1 = f32[4]{0} parameter(0)
  ROOT sum.2 = f32[4]{0} add(p.1, p.1)
}, execution_thread="worker"

ENTRY main.2 {
  x.1 = f32[4]{0} parameter(0)
  y.2 = f32[4,2]{0,1} parameter(1)
  z.3 = (s32[], f32[2]{0}) parameter(2)
  call.4 = f32[4]{0} call(x.1), to_apply=double.1
  g.5 = f32[2]{0} get-tuple-element(z.3), index=1
  ROOT t.6 = (f32[4]{0}, f32[2]{0}) tuple(call.4, g.5)
  unused.7 = f32[4]{0} negate(call.4), control-predecessors={g.5, t.6}
}
)";

TEST(ReadTextTest, ReadsWhatIsPrinted) {
  EXPECT_EQ(Again(kSmall), kSmall);
  const absl::StatusOr<Module> module = ReadModuleText(kSmall);
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  EXPECT_TRUE(module->computations()[0]->is_scheduled);
  EXPECT_THAT(module->entry_layout->parameter_names,
              ElementsAre("x.1", "y.2", "z.3"));
  EXPECT_EQ(module->frontend_attributes.at("a"), "b \"c\"");
}

TEST(ReadTextTest, CompressedTextIsRead) {
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    const std::string bytes = compression == Compression::kNone
                                  ? std::string(kSmall)
                                  : Compress(kSmall, compression);
    const absl::StatusOr<Module> module = ReadModule(bytes);
    ASSERT_TRUE(module.ok()) << module.status();
    EXPECT_EQ(ToString(*module), kSmall);
  }
}

TEST(ReadTextTest, TextIsToldByItsFirstWord) {
  EXPECT_TRUE(IsModuleText("HloModule m"));
  EXPECT_TRUE(IsModuleText("// a comment\n\n /* another */ HloModule m"));
  EXPECT_FALSE(IsModuleText("HloModules"));
  EXPECT_FALSE(IsModuleText("\n\tHloModule\x12"));
  EXPECT_FALSE(IsModuleText("/* HloModule"));
  EXPECT_FALSE(IsModuleText(""));
}

// As XLA prints compiled programs.
constexpr absl::string_view kXla = R"(
HloModule jit_f, num_partitions=8, replica_count=1,
    allow_spmd_sharding_propagation_to_parameters={true,false}, is_scheduled=true

FileNames
1 "/a b/train.py"

FunctionNames
1 "<module>"
2 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=2 end_column=6}
2 {file_name_id=1 function_name_id=2 line=31 end_line=31 column=1 end_column=4}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%fused (p: f32[4], /*index=1*/q: (s32[], f32[4])) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %q = (s32[], f32[4]{0}) parameter(1)
  ROOT %g = f32[4]{0} get-tuple-element((s32[], /*index=1*/f32[4]{0}) %q), index=1
}

%main (x: f32[4], y: (s32[], f32[4])) -> f32[4] {
  %x = f32[4]{0} parameter(0), parameter_replication={true}
  %y = (s32[], f32[4]{0}) parameter(1)
  %f = f32[4]{0} fusion(f32[4]{0} %x, %y), kind=kLoop, calls=%fused, metadata={op_type="t" op_name="jit(f)/mul" stack_frame_id=2 deduplicated_name="d" profile_type={1}}, backend_config={"a":{"b":[1,2]}}
  ROOT %n = f32[4]{0} negate(%f), metadata={op_name="n" source_file="m.py" source_line=7}
}
)";

TEST(ReadTextTest, ReadsWhatXlaPrints) {
  const absl::StatusOr<Module> read = ReadModuleText(kXla);
  ASSERT_TRUE(read.ok()) << read.status();
  const Module& module = *read;
  EXPECT_EQ(Verify(module), absl::OkStatus());
  EXPECT_EQ(module.entry()->name(), "main");  // The last one, without ENTRY.
  const Computation& fused = *module.computations()[0];
  EXPECT_TRUE(fused.is_fusion);
  EXPECT_FALSE(fused.is_scheduled);
  EXPECT_TRUE(module.entry()->is_scheduled);
  const Instruction& fusion = *module.entry()->instruction(2);
  EXPECT_EQ(fusion.attributes->backend_config, R"({"a":{"b":[1,2]}})");
  EXPECT_EQ(SourceLine(module, fusion), "/a b/train.py:31");
  EXPECT_EQ(SourceLine(module, *module.entry()->root()), "m.py:7");
}

TEST(ReadTextTest, AsynchronousOperationsAreUnwrapped) {
  const absl::StatusOr<Module> module = ReadModuleText(R"(HloModule m
ENTRY main {
  x = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, s32[]) custom-call-start(x), async_execution_thread="w", custom_call_target="t", metadata={op_name="o"}
  u = ((f32[4]{0}), f32[4]{0}, s32[]) custom-call-update(s)
  ROOT d = f32[4]{0} custom-call-done(u)
}
)");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  EXPECT_EQ(ToString(*module), R"(HloModule m, )"
                               R"(entry_computation_layout={(f32[4]{0})->)"
                               R"(f32[4]{0}}

async_computation.s {
  param_0.s = f32[4]{0} parameter(0)
  ROOT s.wrapped = f32[4]{0} custom-call(param_0.s), custom_call_target="t"
}

ENTRY main {
  x = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(x), async_execution_thread="w", calls=async_computation.s, metadata={op_name="o"}
  u = ((f32[4]{0}), f32[4]{0}, s32[]) async-update(s)
  ROOT d = f32[4]{0} async-done(u)
}
)");
  EXPECT_EQ(module->entry()->root()->called.size(), 1);
}

TEST(ReadTextTest, ErrorsOfModules) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1, column 1: expected 'HloModule', got the end of the text"},
      {"HloModule", "expected the module's name"},
      {"HloModule m\n", "line 2, column 1: expected a computation"},
      {"HloModule m, new=1", "'new' is no attribute of a module"},
      {"HloModule m, is_scheduled=true, is_scheduled=true", "here twice"},
      {"HloModule m, input_output_alias={ {}: (0, {}, never) }",
       "expected may-alias or must-alias, got 'never'"},
      {"HloModule m\nc {\n}", "line 3, column 1: expected an instruction"},
      {"HloModule m\nc { x = f32[] parameter(0)",
       "expected an instruction, got the end of the text"},
      {"HloModule m\nc { x = f32[] parameter(0) }\nc { x = f32[] "
       "parameter(0) }",
       "line 3, column 1: there is a computation 'c' already"},
      {"HloModule m\nENTRY c { x = f32[] parameter(0) }\nENTRY d { x = f32[] "
       "parameter(0) }",
       "line 3, column 1: there is an ENTRY already"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(Error(text), HasSubstr(error)) << text;
  }
}

TEST(ReadTextTest, ErrorsOfInstructions) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"y = f32[4] dott(x, x)", "line 4, column 14: 'dott' is no opcode"},
      {"y = f32[4] foo-start(x)", "'foo-start' is no opcode"},
      {"y = f32[4] add(x, z)",
       "line 4, column 21: there is no instruction 'z' above"},
      {"y = f32[4] add(x, y)", "there is no instruction 'y' above"},
      {"y = f32[4] add(f32[5] x, x)", "operand 'x' is f32[4], not f32[5]"},
      {"y = f32[4] add(x x)", "expected ')', got 'x'"},
      {"x = f32[4] negate(x)", "the name 'x' is taken"},
      {"y f32[4] negate(x)", "expected '=', got 'f32'"},
      {"y = negate(x)", "expected a shape, got 'negate'"},
      {"y = g32[4] negate(x)", "'g32' is no element type"},
      {"ROOT y = f32[4] negate(x)\nROOT z = f32[4] negate(x)",
       "line 5, column 1: there is a ROOT already"},
      {"y = f32[4] call(x), to_apply=f", "there is no computation 'f' above"},
      {"y = f32[4] call(x), to_apply=main", "no computation 'main' above"},
      {"y = f32[4] negate(x), control-predecessors={q}",
       "line 4, column 47: there is no instruction 'q' above"},
      {"y = f32[4] custom-call-start(x), custom_call_target=\"t\"",
       "expected a shape ((OPERANDS), RESULT, ...)"},
      {"y = f32[20] constant({...})", "leaves this constant out"},
      {"y = f32[4] parameter(one)", "expected a whole number, got 'one'"},
  };
  for (const auto& [line, error] : cases) {
    const std::string text =
        absl::StrCat("HloModule m\nENTRY main {\n  x = f32[4] parameter(0)\n  ",
                     line, "\n}\n");
    EXPECT_THAT(Error(text), HasSubstr(error)) << line;
    EXPECT_THAT(Error(text), StartsWith("line ")) << line;
  }
}

}  // namespace
}  // namespace meshwright
