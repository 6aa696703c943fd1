#include "meshwright/hlo/print_module.h"

#include <ctime>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/shapes_for_test.h"

namespace meshwright {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// One instruction on operands x and y, to look at its line.
class LineTest : public testing::Test {
 protected:
  std::string Line(const PrintOptions& options = {}) {
    return ToString(*instruction_, options);
  }
  Instruction* Make(Opcode opcode, Shape shape = F32({4})) {
    instruction_ = computation_.Add(opcode, std::move(shape), {x_, y_}, "it.3");
    return instruction_;
  }
  Attributes& Set(Opcode opcode) { return Make(opcode)->attributes.mutate(); }

  Computation computation_{"main.1"};
  Computation callee_{"add.7"};
  Computation other_callee_{"mul.8"};
  Instruction* x_ = computation_.AddParameter(F32({4}), "x.1");
  Instruction* y_ = computation_.AddParameter(F32({4}), "y.2");
  Instruction* instruction_ = nullptr;
};

TEST_F(LineTest, ShapeOpcodeAndOperands) {
  Make(Opcode::kAdd, F32({4}))->shape.layout.emplace().minor_to_major = {0};
  EXPECT_EQ(Line(), "it.3 = f32[4]{0} add(x.1, y.2)");
  EXPECT_EQ(ToString(*y_), "y.2 = f32[4] parameter(1)");
}

TEST_F(LineTest, Window) {
  Attributes& attributes = Set(Opcode::kConvolution);
  WindowDimension plain;
  plain.size = 3;
  WindowDimension rich;
  rich.size = 5;
  rich.stride = 2;
  rich.padding_low = 1;
  rich.padding_high = -2;
  rich.base_dilation = 3;
  rich.window_dilation = 4;
  rich.window_reversal = true;
  attributes.window.emplace().dimensions = {plain, rich};
  attributes.feature_group_count = 2;
  EXPECT_THAT(Line(), EndsWith("window={size=3x5 stride=1x2 pad=0_0x1_-2 "
                               "lhs_dilate=1x3 rhs_dilate=1x4 "
                               "rhs_reversal=0x1}, feature_group_count=2"));
}

TEST_F(LineTest, DimLabels) {
  ConvolutionDimensionNumbers& numbers =
      Set(Opcode::kConvolution).convolution.emplace();
  numbers.input_feature = 3;
  numbers.input_spatial = {1, 2};
  numbers.kernel_input_feature = 2;
  numbers.kernel_output_feature = 3;
  numbers.kernel_spatial = {0, 1};
  numbers.output_feature = 1;
  numbers.output_spatial = {2, 4};
  EXPECT_THAT(Line(), EndsWith(", dim_labels=b01f_01io->bf0?1"));
}

TEST_F(LineTest, DimLabelsOutOfRangeAreLeftOut) {
  ConvolutionDimensionNumbers& numbers =
      Set(Opcode::kConvolution).convolution.emplace();
  numbers.input_batch = -1;
  numbers.input_feature = int64_t{1} << 62;
  numbers.kernel_spatial = {-5, 1000000};
  EXPECT_THAT(Line(), EndsWith(", dim_labels=_o->f"));
}

TEST_F(LineTest, DotWithPrecision) {
  Attributes& attributes = Set(Opcode::kDot);
  attributes.dot.emplace().lhs_contracting = {1};
  attributes.dot->rhs_contracting = {0};
  attributes.precision.emplace().operand_precision = {2, 0};
  attributes.precision->algorithm = 7;
  EXPECT_THAT(Line(),
              EndsWith("dot(x.1, y.2), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0}, operand_precision={highest,"
                       "default}, algorithm=dot_bf16_bf16_f32_x3"));
}

TEST_F(LineTest, CalledComputations) {
  Make(Opcode::kWhile)->called = {&callee_, &other_callee_};
  EXPECT_THAT(Line(), EndsWith(", condition=mul.8, body=add.7"));
  Make(Opcode::kReduce)->called = {&callee_};
  EXPECT_THAT(Line(), EndsWith(", dimensions={}, to_apply=add.7"));
  Make(Opcode::kSelectAndScatter)->called = {&callee_, &other_callee_};
  EXPECT_THAT(Line(), EndsWith(", select=add.7, scatter=mul.8"));
  Make(Opcode::kConditional)->called = {&callee_, &other_callee_};
  EXPECT_THAT(Line(), EndsWith(", branch_computations={add.7, mul.8}"));
  x_->shape = Shape::Scalar(ElementType::kPred);
  EXPECT_THAT(Line(),
              EndsWith(", true_computation=add.7, false_computation=mul.8"));
  Make(Opcode::kWhile)->called = {&callee_};
  EXPECT_THAT(Line(), EndsWith(", body=add.7"));
}

TEST_F(LineTest, Collectives) {
  Attributes& attributes = Set(Opcode::kAllGather);
  attributes.channel_id = 5;
  attributes.replica_groups = {{0, 1}, {2, 3}};
  attributes.dimensions = {1};
  attributes.use_global_device_ids = true;
  EXPECT_THAT(Line(), EndsWith(", channel_id=5, replica_groups={{0,1},{2,3}}, "
                               "dimensions={1}, use_global_device_ids=true"));
}

TEST_F(LineTest, ComparisonTypeOnlyWhenUnusual) {
  Attributes& attributes = Set(Opcode::kCompare);
  attributes.comparison_direction = "LT";
  attributes.comparison_type = "FLOAT";
  EXPECT_THAT(Line(), EndsWith("), direction=LT"));
  attributes.comparison_type = "TOTALORDER";
  EXPECT_THAT(Line(), EndsWith(", direction=LT, type=TOTALORDER"));
}

TEST_F(LineTest, CustomCall) {
  Attributes& attributes = Set(Opcode::kCustomCall);
  attributes.custom_call_target = "a\"b";
  attributes.custom_call_api_version = 4;
  attributes.backend_config = "{k = 1 : i64}";
  OutputOperandAliasing& alias =
      attributes.output_operand_aliasing.emplace_back();
  alias.output_shape_index = {0};
  alias.operand_index = 1;
  EXPECT_THAT(Line(), EndsWith(", custom_call_target=\"a\\\"b\", "
                               "output_to_operand_aliasing={{0}: (1, {})}, "
                               "api_version=API_VERSION_TYPED_FFI, "
                               "backend_config={k = 1 : i64}"));
  for (const int32_t unsaid : {0, 1}) {
    attributes.custom_call_api_version = unsaid;
    EXPECT_THAT(Line(), Not(HasSubstr("api_version")));
  }
}

TEST_F(LineTest, BackendConfigThatIsNoDictIsQuoted) {
  for (const std::string config :
       {"plain", "{", "{}}", "{\"}", "{} {}", "{\n}", "}{"}) {
    Set(Opcode::kAdd).backend_config = config;
    EXPECT_THAT(Line(), HasSubstr(", backend_config=\"")) << config;
    EXPECT_THAT(Line(), Not(HasSubstr("\n")));
  }
  Set(Opcode::kAdd).backend_config = "{\"a\":\"}\\\"\"}";
  EXPECT_THAT(Line(), EndsWith(", backend_config={\"a\":\"}\\\"\"}"));
}

TEST_F(LineTest, CommonAttributes) {
  Instruction* add = Make(Opcode::kAdd);
  add->sharding.mutate().kind = OpSharding::Kind::kManual;
  add->frontend_attributes = {{"b", "2\n"}, {"a", "{x}"}};
  add->control_predecessors = {x_, y_};
  add->metadata.op_name = "jit(f)/add";
  add->metadata.source_line = 7;
  EXPECT_THAT(Line(),
              EndsWith("), sharding={manual}, "
                       "frontend_attributes={a={x},b=\"2\\n\"}, "
                       "control-predecessors={x.1, y.2}, "
                       "metadata={op_name=\"jit(f)/add\" source_line=7}"));
  EXPECT_THAT(Line({.metadata = false}), Not(HasSubstr("metadata")));
}

TEST_F(LineTest, NamesThatAreNotWordsAreMadeSo) {
  x_->name = "a b\n}";
  y_->name = "inf";
  Make(Opcode::kAdd)->name = "7";
  EXPECT_EQ(Line(), "_7 = f32[4] add(a_b__, %inf)");
  Make(Opcode::kUnknown)->attributes.mutate().opcode_name = "new-op";
  EXPECT_EQ(Line(), "it.3 = f32[4] new-op(a_b__, %inf)");
}

TEST_F(LineTest, EnumsWithoutANameArePrintedAsNumbers) {
  Set(Opcode::kFft).fft_type = 77;
  EXPECT_THAT(Line(), HasSubstr("fft_type=77"));
  Set(Opcode::kRng).distribution = -1;
  EXPECT_THAT(Line(), HasSubstr("distribution=-1"));
  Set(Opcode::kDot).precision.emplace().operand_precision = {99};
  EXPECT_THAT(Line(), HasSubstr("operand_precision={99}"));
}

TEST_F(LineTest, EveryOpcodePrintsWithoutAttributesOrOperands) {
#define MW_CASE(symbol, name) {Opcode::symbol, name},
  const std::vector<std::pair<Opcode, std::string>> opcodes = {
      MW_HLO_OPCODES(MW_CASE)};
#undef MW_CASE
  for (const auto& [opcode, name] : opcodes) {
    Instruction bare;
    bare.opcode = opcode;
    EXPECT_THAT(ToString(bare), HasSubstr(" " + name + "("));
    bare.called = {&callee_, nullptr, &other_callee_};
    bare.attributes.mutate().dimensions = {-1};
    EXPECT_THAT(ToString(bare), HasSubstr(" " + name + "("));
  }
}

TEST(PrintModuleTest, HeaderAndComputations) {
  Module module("jit_step");
  Computation* callee = module.AddComputation("double.1");
  Instruction* p = callee->AddParameter(F32({}), "p.1");
  callee->Add(Opcode::kAdd, F32({}), {p, p}, "sum.2");
  Computation* entry = module.AddComputation("main.2");
  Instruction* x = entry->AddParameter(F32({}), "x.1");
  Instruction* call = entry->Add(Opcode::kCall, F32({}), {x}, "call.2");
  call->called = {callee};
  entry->Add(Opcode::kNegate, F32({}), {call}, "unused.3");
  entry->set_root(call);
  module.set_entry(entry);
  module.frontend_attributes = {{"k", "v"}};
  module.is_scheduled = true;
  Alias& alias = module.aliases.emplace_back();
  alias.kind = Alias::Kind::kMust;
  module.buffer_donors.emplace_back().parameter_index = {1};
  EXPECT_EQ(ToString(module),
            R"(HloModule jit_step, is_scheduled=true, )"
            R"(input_output_alias={ {}: (0, {}, must-alias) }, )"
            R"(buffer_donor={ (0, {1}) }, )"
            R"(entry_computation_layout={(f32[])->f32[]}, )"
            R"(frontend_attributes={k="v"}

double.1 {
  p.1 = f32[] parameter(0)
  ROOT sum.2 = f32[] add(p.1, p.1)
}

ENTRY main.2 {
  x.1 = f32[] parameter(0)
  ROOT call.2 = f32[] call(x.1), to_apply=double.1
  unused.3 = f32[] negate(call.2)
}
)");
}

TEST(PrintModuleTest, IncompleteModulesPrint) {
  Module module("");
  EXPECT_EQ(ToString(module), "HloModule _\n");
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  entry->execution_thread = "worker";
  EXPECT_EQ(ToString(module),
            "HloModule _\n\nENTRY main {\n}, execution_thread=\"worker\"\n");
  Instruction* odd = entry->Add(Opcode::kParameter, F32({}), {}, "x");
  odd->attributes.mutate().parameter_number = int64_t{1} << 60;
  entry->Add(Opcode::kConstant, F32({}), {}, "c");
  entry->set_root(nullptr);
  EXPECT_THAT(ToString(module), HasSubstr("  c = f32[] constant({...})\n"));
}

TEST(PrintModuleTest, SeventyThousandInstructionsAreFast) {
  Module module("large");
  Computation* entry = module.AddComputation("main");
  Instruction* last = entry->AddParameter(F32({8, 128}), "x.0");
  for (int i = 1; i < 70000; ++i) {
    last = entry->Add(Opcode::kAdd, F32({8, 128}), {last, last},
                      "add." + std::to_string(i));
    last->metadata.op_name = "jit(step)/jvp(layer)/dot_general";
  }
  module.set_entry(entry);
  const std::clock_t start = std::clock();
  const std::string text = ToString(module);
  const double seconds =
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_THAT(text.substr(0, 20), StartsWith("HloModule large, "));
  EXPECT_LT(seconds, 5);  // About 0.1 s without sanitizers.
  RecordProperty("seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace meshwright
