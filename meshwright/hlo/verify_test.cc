// What Verify checks beyond single instructions: structure, constants,
// shardings, and the module's entry.
#include "meshwright/hlo/verify.h"

#include <ctime>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

using Kind = OpSharding::Kind;

using testing::HasSubstr;

constexpr ElementType kF32 = ElementType::kF32;

// main(x f32[4], y (f32[4], s32[])) -> (f32[4], f32[4]), which calls
// callee(f32[4]) -> f32[4].
class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    callee_ = AddCallee(module_, "f32[4] -> f32[4]", "callee");
    entry_ = module_.AddComputation("main");
    module_.set_entry(entry_);
    x_ = entry_->AddParameter(ParseShape("f32[4]"), "x");
    y_ = entry_->AddParameter(ParseShape("(f32[4], s32[])"), "y");
    call_ = entry_->Add(Opcode::kCall, ParseShape("f32[4]"), {x_}, "call");
    call_->called = {callee_};
    root_ = entry_->Add(Opcode::kTuple, ParseShape("(f32[4], f32[4])"),
                        {call_, x_}, "root");
  }

  std::string Message() { return std::string(Verify(module_).message()); }

  // Adds a constant with this literal and makes it the root.
  Instruction* AddConstant(const std::string& shape, Literal literal) {
    Instruction* constant =
        entry_->Add(Opcode::kConstant, ParseShape(shape), {}, "constant");
    constant->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(literal));
    return constant;
  }

  Module module_{"test"};
  Computation* callee_;
  Computation* entry_;
  Instruction* x_;
  Instruction* y_;
  Instruction* call_;
  Instruction* root_;
};

TEST_F(VerifyTest, AcceptsAGoodModule) { EXPECT_EQ(Message(), ""); }

TEST_F(VerifyTest, NamesComputationInstructionAndOpcode) {
  call_->shape = ParseShape("f32[5]");
  EXPECT_EQ(Message(),
            "main/call (call): wrong shape; expected f32[4], got f32[5]");
  EXPECT_EQ(Verify(module_).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(VerifyTest, KeepsMessagesOnOneLine) {
  call_->name = "bad\nname";
  call_->shape = ParseShape("f32[5]");
  EXPECT_THAT(Message(), HasSubstr("main/bad\\nname (call): "));
}

TEST_F(VerifyTest, NeedsAnEntry) {
  module_.set_entry(nullptr);
  EXPECT_EQ(Message(), "module test: no entry computation");
  Computation stranger("stranger");
  module_.set_entry(&stranger);
  EXPECT_EQ(Message(), "module test: the entry is not in the module");
}

TEST_F(VerifyTest, NeedsNames) {
  EXPECT_EQ(Verify(Module("")).message(), "the module has no name");
  x_->name = "";
  EXPECT_THAT(Message(), HasSubstr("main/\"\" (parameter): the instruction"));
  module_.AddComputation("");
  x_->name = "x";
  EXPECT_EQ(Message(), "a computation has no name");
}

TEST_F(VerifyTest, NeedsUniqueNames) {
  x_->name = "callee.root";
  EXPECT_EQ(Message(),
            "main/callee.root (parameter): the name is used twice in the "
            "module");
  x_->name = "x";
  AddCallee(module_, "-> f32[]", "callee");
  EXPECT_EQ(Message(), "callee: two computations have this name");
}

TEST_F(VerifyTest, NeedsARootOfTheComputation) {
  entry_->set_root(callee_->root());
  EXPECT_EQ(Message(), "main: the root is not in the computation");
  entry_->set_root(nullptr);
  EXPECT_EQ(Message(), "main: the computation has no root");
}

TEST_F(VerifyTest, NeedsConsecutiveParameterNumbers) {
  y_->attributes.mutate().parameter_number = 2;
  EXPECT_EQ(Message(),
            "main: parameter numbers must be 0..n-1; got 2 among 2 parameters");
  y_->attributes.mutate().parameter_number = 0;
  EXPECT_EQ(Message(), "main: parameter numbers must be 0..n-1; got 0 twice");
  y_->attributes.mutate().parameter_number = -1;
  EXPECT_THAT(Message(), HasSubstr("got -1 among 2 parameters"));
}

TEST_F(VerifyTest, NeedsOperandsBeforeTheirUsers) {
  for (Instruction* operand :
       {root_, call_, callee_->root(), static_cast<Instruction*>(nullptr)}) {
    call_->operands = {operand};
    EXPECT_THAT(Message(), HasSubstr("operand 0 is not an earlier instruction "
                                     "of the same computation"));
  }
}

TEST_F(VerifyTest, AllowsControlEdgesAgainstTheOrderButNoCycle) {
  y_->control_predecessors = {call_};
  EXPECT_EQ(Message(), "");
  x_->control_predecessors = {root_};
  EXPECT_EQ(Message(), "main: control predecessors form a cycle");
  x_->control_predecessors = {callee_->root()};
  EXPECT_THAT(Message(), HasSubstr("not in the same computation"));
}

TEST_F(VerifyTest, NeedsCalleesBeforeTheirCallers) {
  Computation stranger("stranger");
  for (Computation* callee : {entry_, &stranger}) {
    call_->called = {callee};
    EXPECT_THAT(Message(), HasSubstr("does not come before its caller"));
  }
  call_->called = {AddCallee(module_, "f32[4] -> f32[4]", "later")};
  EXPECT_THAT(Message(), HasSubstr("does not come before its caller"));
}

TEST_F(VerifyTest, NeedsValidShapes) {
  const std::vector<std::pair<Shape, std::string>> cases = {
      {ParseShape("f32[-1]"), "negative dimension -1"},
      {ParseShape("f32[4611686018427387904,4]"), "size overflows 64 bits"},
      {Shape(), "no element type"},
      {Shape::Array(kF32, std::vector<int64_t>(300, 1)),
       "more than 256 dimensions"},
  };
  for (const auto& [shape, why] : cases) {
    x_->shape = shape;
    EXPECT_THAT(Message(), HasSubstr(absl::StrCat("invalid shape: ", why)));
  }
  x_->shape = ParseShape("f32[4]");
  x_->shape.dynamic_dimensions = {true, false};
  EXPECT_THAT(Message(), HasSubstr("one dynamic mark per dimension"));
}

TEST_F(VerifyTest, ChecksConstants) {
  Instruction* constant = AddConstant("s32[3]", {.shape = ParseShape("s32[3]"),
                                                 .data = std::string(12, 'x'),
                                                 .tuple = {},
                                                 .unknown_fields = ""});
  EXPECT_EQ(Message(), "");
  const auto change = [&](const std::function<void(Literal&)>& f) {
    Literal literal = *constant->attributes->literal;
    f(literal);
    constant->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(literal));
  };
  change([](Literal& l) { l.data.pop_back(); });
  EXPECT_THAT(Message(), HasSubstr("the literal has the wrong size for s32[3]; "
                                   "expected 12 bytes, got 11"));
  change([](Literal& l) { l.shape.layout = Layout{.minor_to_major = {0}}; });
  EXPECT_THAT(Message(), HasSubstr("both have a layout or neither; only the "
                                   "literal has one"));
  change([](Literal& l) { l.shape = ParseShape("s32[4]"); });
  EXPECT_THAT(Message(), HasSubstr("the literal has the wrong shape; expected "
                                   "s32[3], got s32[4]"));
  constant->attributes.mutate().literal = nullptr;
  EXPECT_THAT(Message(), HasSubstr("the constant has no literal"));
}

TEST_F(VerifyTest, ChecksLayoutsOfConstants) {
  Literal literal;
  literal.shape = ParseShape("u8[2,3]");
  literal.shape.layout = Layout{.minor_to_major = {0, 1}};
  literal.data = "abcdef";
  Instruction* constant = AddConstant("u8[2,3]", literal);
  constant->shape.layout = Layout{.minor_to_major = {0, 1}};
  EXPECT_EQ(Message(), "");
  constant->shape.layout = Layout{.minor_to_major = {1, 0}};
  EXPECT_THAT(Message(), HasSubstr("the literal has another layout; expected "
                                   "u8[2,3]{1,0}, got u8[2,3]{0,1}"));
}

TEST_F(VerifyTest, ChecksTupleConstants) {
  Literal literal;
  literal.shape = ParseShape("(f32[], pred[])");
  literal.tuple = {Literal::Scalar(1.0f), Literal::Scalar(true)};
  // As the literals carry them: see Literal::Scalar.
  Instruction* constant = AddConstant("(f32[], pred[])", literal);
  for (size_t i = 0; i < 2; ++i) {
    constant->shape.tuple_shapes[i].layout = literal.tuple[i].shape.layout;
  }
  EXPECT_EQ(Message(), "");
  literal.tuple[1].data = "";
  constant->attributes.mutate().literal =
      std::make_shared<const Literal>(literal);
  EXPECT_THAT(Message(), HasSubstr("wrong size for pred[]"));
  literal.tuple.pop_back();
  constant->attributes.mutate().literal =
      std::make_shared<const Literal>(literal);
  EXPECT_THAT(Message(), HasSubstr("wrong number of elements; expected 2"));
}

TEST_F(VerifyTest, ChecksShardings) {
  const OpSharding tiled = {
      .kind = Kind::kTiled, .tile_dimensions = {2}, .devices = {0, 1}};
  OpSharding partial = tiled;
  partial.tile_dimensions = {2, 2};
  partial.devices = {};
  partial.iota_reshape_dims = {2, 2};
  partial.iota_transpose_perm = {1, 0};
  partial.replicate_on_last_tile_dim = true;
  x_->sharding.mutate() = partial;
  y_->sharding.mutate() = {.kind = Kind::kTuple,
                           .tuple = {tiled, {.kind = Kind::kReplicated}}};
  EXPECT_EQ(Message(), "");

  const auto bad = [&](const std::function<void(OpSharding&)>& f) {
    OpSharding& sharding = x_->sharding.mutate();
    sharding = partial;
    f(sharding);
    return Message();
  };
  EXPECT_THAT(bad([](auto& s) { s.replicate_on_last_tile_dim = false; }),
              HasSubstr("wrong number of tile dimensions; expected 1, got 2"));
  EXPECT_THAT(bad([](auto& s) {
                s.iota_reshape_dims = {3, 2};
              }),
              HasSubstr("does not name as many devices as there are tiles, 4"));
  EXPECT_THAT(bad([](auto& s) {
                s.iota_transpose_perm = {1, 1};
              }),
              HasSubstr("transpose is no permutation"));
  EXPECT_THAT(bad([](auto& s) {
                s.tile_dimensions = {1l << 62, 4};
              }),
              HasSubstr("must be positive and not overflow"));
  EXPECT_THAT(bad([](auto& s) {
                s.iota_reshape_dims = {};
                s.devices = {0, 1, 2};
              }),
              HasSubstr("wrong number of devices; expected 4, got 3"));
  EXPECT_THAT(bad([](auto& s) {
                s = {.kind = Kind::kMaximal, .devices = {0, 1}};
              }),
              HasSubstr("expected one device, got 2"));
  x_->sharding.reset();
  y_->sharding.mutate().tuple.pop_back();
  EXPECT_THAT(Message(), HasSubstr("expected one sharding per leaf, 2, got 1"));
  y_->sharding.mutate().tuple = {tiled, tiled};
  EXPECT_THAT(Message(), HasSubstr("leaf 1: sharding: wrong number of tile "
                                   "dimensions; expected 0, got 1"));
}

TEST_F(VerifyTest, ChecksTheEntryLayout) {
  module_.entry_layout = ProgramShapeOf(*entry_);
  EXPECT_EQ(Message(), "");
  ProgramShape& layout = *module_.entry_layout;
  layout.parameter_names.pop_back();
  EXPECT_EQ(Message(),
            "module test: entry layout: wrong number of parameter names; "
            "expected 2, got 1");
  layout.parameter_names.clear();
  EXPECT_EQ(Message(), "");
  layout.result = ParseShape("f32[4]");
  EXPECT_THAT(Message(), HasSubstr("entry layout: the result has the wrong"));
  layout.parameters[1] = ParseShape("f32[4]");
  EXPECT_THAT(Message(), HasSubstr("entry layout: parameter 1 has the wrong"));
  layout.parameters.pop_back();
  EXPECT_THAT(Message(), HasSubstr("wrong number of parameters; expected 2"));
}

TEST_F(VerifyTest, ChecksAliases) {
  const auto with = [&](std::vector<Alias> aliases) {
    module_.aliases = std::move(aliases);
    return Message();
  };
  const Alias first = {.output_index = {0}, .parameter_number = 0};
  const Alias second = {
      .output_index = {1}, .parameter_number = 1, .parameter_index = {0}};
  EXPECT_EQ(with({first, second}), "");
  EXPECT_EQ(with({first, {.output_index = {1}, .parameter_number = 0}}),
            "module test: alias 1: parameter 0 at {} is aliased twice");
  EXPECT_THAT(with({second, {.output_index = {1}}}),
              HasSubstr("alias 1: output {1} is aliased twice"));
  EXPECT_THAT(with({{.output_index = {2}}}),
              HasSubstr("output has no element {2}"));
  EXPECT_THAT(with({{.output_index = {}}}),
              HasSubstr("output at {} must be an array"));
  EXPECT_THAT(with({{.output_index = {0}, .parameter_number = 2}}),
              HasSubstr("expected 0 <= n < 2, got 2"));
  EXPECT_THAT(with({{.output_index = {0},
                     .parameter_number = 1,
                     .parameter_index = {0, 0}}}),
              HasSubstr("parameter 1 has no element {0,0}"));
  EXPECT_THAT(with({{.output_index = {0},
                     .parameter_number = 1,
                     .parameter_index = {1}}}),
              HasSubstr("differ in size; expected f32[4], got s32[]"));
  module_.buffer_donors = {{.parameter_number = 1, .parameter_index = {0}}};
  EXPECT_EQ(with({first}), "");
  EXPECT_THAT(with({second}), HasSubstr("buffer donor 0: parameter 1 at {0} is "
                                        "donated twice, or aliased as well"));
}

// A tuple of many leaves handed to many calls must not cost leaves x calls.
TEST_F(VerifyTest, IsLinearInLargeSharedTuples) {
  constexpr int kLeaves = 20000;
  constexpr int kCalls = 20000;
  const Shape large =
      Shape::Tuple(std::vector<Shape>(kLeaves, ParseShape("f32[4]")));
  Module module("large");
  Computation* callee = AddCallee(module, "-> f32[]", "callee");
  callee->AddParameter(large, "callee.p");
  callee->set_root(callee->instruction(0));
  Computation* entry = module.AddComputation("main");
  module.set_entry(entry);
  Instruction* operand = entry->AddParameter(large, "p");
  for (int i = 0; i < kCalls; ++i) {
    Instruction* call = entry->Add(Opcode::kCall, Shape::Scalar(kF32),
                                   {operand}, absl::StrCat("call", i));
    call->called = {callee};
  }
  const std::clock_t start = std::clock();
  const absl::Status status = Verify(module);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace meshwright
