#include "meshwright/crossing/cross_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/crossing/cross_call.h"
#include "meshwright/hlo/print_module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Module ReadProgram(absl::string_view text) {
  auto module = ReadModuleText(absl::StrCat(R"(
    HloModule m
    add {
      a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b)
    }
    )",
                                            text));
  EXPECT_TRUE(module.ok()) << module.status();
  module->Finish();
  EXPECT_EQ(Verify(*module), absl::OkStatus());
  return *std::move(module);
}

Module Lower(absl::string_view text, const ProcessPlace& place,
             uint32_t first_tag = 0) {
  auto module = LowerForProcess(ReadProgram(text), place, /*job=*/7, first_tag);
  EXPECT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(Verify(*module), absl::OkStatus()) << ToString(*module);
  return *std::move(module);
}

std::string Error(absl::string_view text, const ProcessPlace& place) {
  return std::string(
      LowerForProcess(ReadProgram(text), place, 7).status().message());
}

const Instruction* Find(const Module& module, absl::string_view name) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->name == name) return instruction.get();
    }
  }
  return nullptr;
}

std::vector<const Instruction*> Calls(const Computation& computation) {
  std::vector<const Instruction*> calls;
  for (const auto& instruction : computation.instructions()) {
    if (instruction->attributes->custom_call_target == kCrossCallTarget) {
      calls.push_back(instruction.get());
    }
  }
  return calls;
}

// The example of the header.
constexpr absl::string_view kExample = R"(
  ENTRY main {
    x = f32[8] parameter(0)
    id = u32[] replica-id()
    sum = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add
    all = f32[32] all-gather(sum), replica_groups={{0,1,2,3}}, dimensions={0}
    ROOT out = (f32[32], u32[]) tuple(all, id)
  })";

TEST(CrossProcessTest, WhatLiesInOneProcessStays) {
  for (const int process : {0, 1}) {
    const Module module =
        Lower(kExample, {.process_of = {0, 0, 1, 1}, .process = process});
    const Instruction* sum = Find(module, "sum");
    EXPECT_EQ(sum->opcode, Opcode::kAllReduce);
    EXPECT_THAT(sum->attributes->replica_groups,
                ElementsAre(ElementsAre(0, 1)));
  }
  // Everything does.
  const Module alone = Lower(kExample, {.process_of = {0, 0, 0, 0}});
  EXPECT_THAT(ToString(alone), Not(HasSubstr("custom-call")));
  EXPECT_THAT(Find(alone, "sum")->attributes->replica_groups,
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(CrossProcessTest, WhatCrossesIsCalled) {
  const Module module =
      Lower(kExample, {.process_of = {0, 0, 1, 1}, .process = 1});
  const Instruction* call = Find(module, "all");
  ASSERT_EQ(call->opcode, Opcode::kCustomCall);
  const Attributes& attributes = *call->attributes;
  EXPECT_EQ(attributes.custom_call_target, "meshwright_collective");
  EXPECT_EQ(attributes.custom_call_api_version, 4);
  EXPECT_TRUE(attributes.custom_call_has_side_effect);
  EXPECT_EQ(attributes.backend_config,
            "{job = 7 : i64, member = 1 : i64, tag = 0 : i64, "
            "kind = \"all-gather\", op = \"add\", dimension = 0 : i64, "
            "groups = \"0:0@0,1@0,2@1,3@1\", pairs = \"\"}");
  EXPECT_EQ(call->shape.ToString(true), "(f32[32]{0}, u32[])");
  EXPECT_TRUE(attributes.constrain_layout);
  ASSERT_EQ(attributes.operand_shapes_with_layout.size(), 2);
  EXPECT_EQ(attributes.operand_shapes_with_layout[0].ToString(true),
            "f32[8]{0}");
}

// A collective is the compiler's in all processes, or in none.
TEST(CrossProcessTest, AllProcessesDecideAlike) {
  constexpr absl::string_view kText = R"(
    ENTRY main {
      x = f32[8] parameter(0)
      ROOT sum = f32[8] all-reduce(x), replica_groups={{0,1},{2,3}}, to_apply=add
    })";
  const Module first = Lower(kText, {.process_of = {0, 0, 1, 2}});
  EXPECT_THAT(Find(first, "sum")->attributes->backend_config,
              HasSubstr("groups = \"0:0@0,1@0\""));
  const Module last =
      Lower(kText, {.process_of = {0, 0, 1, 2}, .process = 2}, 100);
  EXPECT_THAT(Find(last, "sum")->attributes->backend_config,
              HasSubstr("tag = 100 : i64"));
  EXPECT_THAT(Find(last, "sum")->attributes->backend_config,
              HasSubstr("groups = \"101:2@1,3@2\""));
}

TEST(CrossProcessTest, DevicesHaveTheirNumbersInTheMesh) {
  const auto out = [](const Module& module) {
    return module.entry()->root()->operands[1];
  };
  const Module one =
      Lower(kExample, {.process_of = {0, 0, 0, 1}, .process = 1});
  EXPECT_EQ(out(one)->opcode, Opcode::kConstant);
  EXPECT_EQ(out(one)->attributes->literal->ElementAsInteger(0), 3);
  const Module first = Lower(kExample, {.process_of = {0, 0, 1, 1}});
  EXPECT_EQ(out(first)->opcode, Opcode::kReplicaId);
  const Module rest =
      Lower(kExample, {.process_of = {0, 1, 1, 1}, .process = 1});
  ASSERT_EQ(out(rest)->opcode, Opcode::kAdd);
  EXPECT_EQ(out(rest)->operands[1]->attributes->literal->ElementAsInteger(0),
            1);
  const Module odd =
      Lower(kExample, {.process_of = {0, 1, 0, 1}, .process = 1});
  ASSERT_EQ(out(odd)->opcode, Opcode::kReshape);
  const Instruction* table = out(odd)->operands[0]->operands[0];
  EXPECT_THAT(table->attributes->literal->Values<uint32_t>(),
              ElementsAre(1, 3));
}

TEST(CrossProcessTest, PermutesGoAmongThoseConnected) {
  constexpr absl::string_view kText = R"(
    ENTRY main {
      x = f32[8] parameter(0)
      there = f32[8] collective-permute(x), source_target_pairs={{0,4},{2,3},{4,1},{5,6}}
      here = f32[8] collective-permute(there), source_target_pairs={{4,5},{6,7}}
      ROOT out = (f32[8], f32[8]) tuple(there, here)
    })";
  const std::vector<int> process_of = {0, 0, 0, 0, 1, 1, 1, 1};
  const Module first = Lower(kText, {.process_of = process_of});
  const std::string& config = Find(first, "there")->attributes->backend_config;
  EXPECT_THAT(config, HasSubstr("groups = \"0:0@0,1@0,4@1;1:2@0,3@0\""));
  EXPECT_THAT(config, HasSubstr("pairs = \"0>4,4>1,2>3\""));
  // Nothing is sent there.
  EXPECT_EQ(Find(first, "here"), nullptr);
  EXPECT_EQ(first.entry()->root()->operands[1]->opcode, Opcode::kBroadcast);
  const Module second = Lower(kText, {.process_of = process_of, .process = 1});
  EXPECT_THAT(Find(second, "there")->attributes->backend_config,
              HasSubstr("groups = \"0:0@0,1@0,4@1;2:5@1,6@1\""));
  const auto& pairs = Find(second, "here")->attributes->source_target_pairs;
  ASSERT_EQ(pairs.size(), 2);
  EXPECT_EQ(pairs[0].source, 0);
  EXPECT_EQ(pairs[1].target, 3);
}

constexpr absl::string_view kLoop = R"(
  body {
    s = (s32[], f32[4]) parameter(0)
    i = s32[] get-tuple-element(s), index=0
    x = f32[4] get-tuple-element(s), index=1
    y = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=add
    z = f32[4] all-reduce(x), replica_groups={{0,1}}, to_apply=add
    w = f32[4] add(y, z)
    ROOT t = (s32[], f32[4]) tuple(i, w)
  }
  condition {
    s2 = (s32[], f32[4]) parameter(0)
    i2 = s32[] get-tuple-element(s2), index=0
    ROOT go = pred[] compare(i2, i2), direction=LT
  }
  ENTRY main {
    zero = s32[] constant(0)
    p = f32[4] parameter(0)
    first = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add
    second = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add
    init = (s32[], f32[4]) tuple(zero, p)
    loop = (s32[], f32[4]) while(init), condition=condition, body=body
    third = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add
    ROOT out = ((s32[], f32[4]), f32[4], f32[4], f32[4]) tuple(loop, first, second, third)
  })";

TEST(CrossProcessTest, CallsComeInOneOrder) {
  const Module module = Lower(kLoop, {.process_of = {0, 1}});
  const Instruction* first = Find(module, "first");
  const Instruction* second = Find(module, "second");
  const Instruction* loop = Find(module, "loop");
  const Instruction* third = Find(module, "third");
  EXPECT_THAT(first->control_predecessors, IsEmpty());
  EXPECT_THAT(second->control_predecessors, ElementsAre(first));
  // Through the loop goes the number of the device.
  EXPECT_EQ(loop->shape.ToString(), "(s32[], f32[4], u32[])");
  EXPECT_THAT(loop->control_predecessors, IsEmpty());
  EXPECT_EQ(loop->operands[0]->operands[2]->operands[0], second);
  EXPECT_THAT(third->control_predecessors, IsEmpty());
  EXPECT_EQ(third->operands[1]->operands[0], loop);
  EXPECT_EQ(third->operands[1]->attributes->tuple_index, 2);
  const auto calls = Calls(*loop->called[0]);
  ASSERT_EQ(calls.size(), 2);
  EXPECT_THAT(calls[1]->control_predecessors, ElementsAre(calls[0]));
  EXPECT_EQ(loop->called[0]->root()->operands[2]->operands[0], calls[1]);
  // Who wanted the loop's result gets it as it was.
  EXPECT_EQ(module.entry()->root()->operands[0]->shape.ToString(),
            "(s32[], f32[4])");
  EXPECT_EQ(*CrossTagCount(ReadProgram(kLoop), {.process_of = {0, 1}}), 5);
  EXPECT_EQ(*CrossTagCount(ReadProgram(kLoop), {.process_of = {1, 1}}), 0);
}

TEST(CrossProcessTest, ProcessesThatMeetAreKnownAhead) {
  const Module module = ReadProgram(R"(
    ENTRY main {
      x = f32[8] parameter(0)
      all = f32[8] all-reduce(x), replica_groups={}, to_apply=add
      some = f32[8] all-reduce(x), replica_groups={{0,1},{2,3},{4,5}}, to_apply=add
      ROOT far = f32[8] collective-permute(some), source_target_pairs={{0,5},{5,0}}
    })");
  const std::vector<int> process_of = {0, 1, 1, 2, 2, 2};
  const auto groups = [&](int process) {
    return *ProcessGroupsOf(module,
                            {.process_of = process_of, .process = process});
  };
  EXPECT_THAT(groups(0), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1, 2),
                                     ElementsAre(0, 2)));
  EXPECT_THAT(groups(1), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1, 2),
                                     ElementsAre(1, 2)));
}

TEST(CrossProcessTest, NarrowTypesAreConvertedForTheCall) {
  const Module module = Lower(R"(
    more {
      a1 = s4[] parameter(0)
      b1 = s4[] parameter(1)
      ROOT c1 = s4[] add(a1, b1)
    }
    ENTRY main {
      x = f32[8] parameter(0)
      n = s4[8]{0:E(4)} convert(x)
      f = f6e3m2fn[8] convert(x)
      all = (s4[8], s4[8]) all-reduce(n, n), replica_groups={{0,1}}, to_apply=more
      moved = f6e3m2fn[16] all-gather(f), replica_groups={{0,1}}, dimensions={0}, control-predecessors={all}
      second = s4[8] get-tuple-element(all), index=1
      ROOT r = (s4[8], f6e3m2fn[16]) tuple(second, moved)
    })",
                              {.process_of = {0, 1}});
  const auto calls = Calls(*module.entry());
  ASSERT_EQ(calls.size(), 2);
  EXPECT_EQ(calls[0]->shape.ToString(true), "(s8[8]{0}, s8[8]{0}, u32[])");
  EXPECT_EQ(calls[0]->operands[0]->shape.ToString(true), "s8[8]{0}");
  EXPECT_EQ(calls[1]->shape.ToString(), "(f8e4m3fn[16], u32[])");
  EXPECT_THAT(calls[1]->control_predecessors, ElementsAre(calls[0]));
  EXPECT_EQ(module.entry()->root()->shape.ToString(), "(s4[8], f6e3m2fn[16])");
}

TEST(CrossProcessTest, RefusesWhatCannotGoBetweenProcesses) {
  const auto entry = [](absl::string_view line) {
    return absl::StrCat(R"(
      odd {
        a1 = f32[] parameter(0)
        b1 = f32[] parameter(1)
        ROOT c1 = f32[] subtract(a1, b1)
      }
      most {
        a2 = c64[] parameter(0)
        b2 = c64[] parameter(1)
        ROOT c2 = c64[] maximum(a2, b2)
      }
      ENTRY main {
        x = f32[8] parameter(0)
        z = c64[8] convert(x)
        )",
                        line, "\n}");
  };
  const ProcessPlace two = {.process_of = {0, 1}};
  EXPECT_EQ(Error(entry("ROOT r = f32[8] all-reduce(x), "
                        "replica_groups={{0,1}}, to_apply=odd"),
                  two),
            "r (all-reduce): no reduction odd between processes");
  EXPECT_EQ(Error(entry("ROOT r = c64[8] all-reduce(z), "
                        "replica_groups={{0,1}}, to_apply=most"),
                  two),
            "r (all-reduce): no maximum of c64 between processes");
  EXPECT_EQ(Error(entry("s = f32[8] all-reduce-start(x), "
                        "replica_groups={{0,1}}, to_apply=add\n"
                        "ROOT r = f32[8] all-reduce-done(s)"),
                  two),
            "s (all-reduce-start): does not work between processes");
  EXPECT_EQ(Error(entry("ROOT r = f32[8] all-reduce(x), "
                        "replica_groups={{0,1,2}}, to_apply=add"),
                  two),
            "r (all-reduce): names device 2 of 2");
  EXPECT_EQ(Error(entry("ROOT r = f32[8] negate(x)"),
                  {.process_of = {0, 1}, .process = 2}),
            "process 2 has none of the devices");
}

TEST(CrossCallTest, TextsComeBack) {
  const std::string groups = "3:0@0,4@1;5:2@2";
  EXPECT_EQ(ToString(*ParseCrossGroups(groups)), groups);
  EXPECT_EQ(ToString(*ParseCrossPairs("0>2,1>3")), "0>2,1>3");
  EXPECT_EQ(ParseCrossGroups("")->size(), 0);
  for (const char* bad : {"0", "0:1", "0:1@", "x:1@1", "0:1@1,"}) {
    EXPECT_FALSE(ParseCrossGroups(bad).ok()) << bad;
  }
  EXPECT_FALSE(ParseCrossPairs("0>").ok());
  for (int i = 0; i < 6; ++i) {
    const auto kind = static_cast<CrossKind>(i);
    EXPECT_EQ(*ParseCrossKind(Name(kind)), kind);
    const auto op = static_cast<ReduceOp>(i);
    EXPECT_EQ(*ParseReduceOp(ReduceOpName(op)), op);
  }
  EXPECT_EQ(ParseReduceOp("odd").status().message(),
            "\"odd\" is no reduction of a collective");
}

}  // namespace
}  // namespace meshwright
