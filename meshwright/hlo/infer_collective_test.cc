#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

std::function<void(Attributes&)> Along(std::vector<int64_t> dimensions,
                                       Groups groups, int64_t channel_id = 0) {
  return [=](Attributes& a) {
    a.dimensions = dimensions;
    a.replica_groups = groups;
    a.channel_id = channel_id;
  };
}

std::function<void(Attributes&)> Among(Groups groups) {
  return Along({}, std::move(groups));
}

std::function<void(Attributes&)> Pairs(std::vector<SourceTarget> pairs) {
  return [=](Attributes& a) { a.source_target_pairs = pairs; };
}

std::vector<InstructionCase> Reducing() {
  return {
      {.name = "AllReduce",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{0, 2}, {1, 3, 4}}),
       .result = "f32[4]"},
      {.name = "VariadicAllReduce",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]", "bf16[2,3]"},
       .called = {kAddSignature},
       .result = "(f32[4], bf16[2,3])"},
      {.name = "AllReduceByWrongCombiner",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {"f32[4], f32[4] -> f32[4]"},
       .result = "f32[4]",
       .error = "must be a scalar; expected f32[], got f32[4]"},
      {.name = "AllReduceByComparison",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {"f32[], f32[] -> pred[]"},
       .result = "f32[4]",
       .error = "returns the wrong shape; expected f32[], got pred[]"},
  };
}

std::vector<InstructionCase> BadGroups() {
  return {
      {.name = "IdInTwoGroups",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{0, 1}, {1, 2}}),
       .result = "f32[4]",
       .error = "id 1 is in replica groups twice"},
      {.name = "GroupsLeaveAnIdOut",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{0, 1}, {2, 4}}),
       .result = "f32[4]",
       .error = "replica groups must name all ids below their number; "
                "expected ids below 4, got 4"},
      {.name = "LargeIdTwice",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{int64_t{1} << 60, int64_t{1} << 60}}),
       .result = "f32[4]",
       .error = "is in replica groups twice"},
      {.name = "NegativeId",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{-1}}),
       .result = "f32[4]",
       .error = "negative id -1 in replica group 0"},
      {.name = "EmptyGroup",
       .opcode = Opcode::kAllReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .set = Among({{0}, {}}),
       .result = "f32[4]",
       .error = "replica group 1 is empty"},
  };
}

std::vector<InstructionCase> Scattering() {
  return {
      {.name = "ReduceScatter",
       .opcode = Opcode::kReduceScatter,
       .operands = {"f32[4,8]"},
       .called = {kAddSignature},
       .set = Along({1}, {{0, 1}, {2, 3}}),
       .result = "f32[4,4]",
       .own = true},
      {.name = "ReduceScatterByWrongFactor",
       .opcode = Opcode::kReduceScatter,
       .operands = {"f32[4,8]"},
       .called = {kAddSignature},
       .set = Along({1}, {{0, 1}, {2, 3}}),
       .result = "f32[4,2]",
       .error =
           "expected f32[4,8] with dimension 1 divided by 2, got f32[4,2]"},
      {.name = "ReduceScatterUnequalGroups",
       .opcode = Opcode::kReduceScatter,
       .operands = {"f32[4,8]"},
       .called = {kAddSignature},
       .set = Along({1}, {{0, 1}, {2}}),
       .result = "f32[4,4]",
       .error = "replica groups must have one size; expected 2, got 1"},
      {.name = "CollectiveReduce",
       .opcode = Opcode::kCollectiveReduce,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .result = "f32[4]",
       .own = true},
      {.name = "AllReduceStart",
       .opcode = Opcode::kAllReduceStart,
       .operands = {"f32[4]"},
       .called = {kAddSignature},
       .result = "f32[4]",
       .own = true},
      {.name = "AllReduceDone",
       .opcode = Opcode::kAllReduceDone,
       .operands = {"f32[4]"},
       .result = "f32[4]",
       .own = true},
  };
}

std::vector<InstructionCase> Moving() {
  return {
      {.name = "AllGather",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4,8]"},
       .set = Along({0}, {{0, 1}, {2, 3}}),
       .result = "f32[8,8]",
       .own = true},
      {.name = "AllGatherAmongAll",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4,8]"},
       .set = Along({0}, {}),
       .result = "f32[20,8]",
       .own = true},
      {.name = "AllGatherTimesPartitions",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4,8]"},
       .set = Along({0}, {{0, 1}}, /*channel_id=*/1),
       .result = "f32[16,8]",
       .own = true},
      {.name = "VariadicAllGather",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4]", "s32[2]"},
       .set = Along({0}, {{0, 1}}),
       .result = "(f32[8], s32[4])",
       .own = true},
      {.name = "AllGatherByWrongFactor",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4,8]"},
       .set = Along({0}, {{0, 1}, {2, 3}}),
       .result = "f32[12,8]",
       .error = "expected f32[4,8] with dimension 0 times 2, got f32[12,8]"},
      {.name = "AllGatherByFraction",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4,8]"},
       .set = Along({0}, {}),
       .result = "f32[6,8]",
       .error = "with dimension 0 times the group's size, got f32[6,8]"},
      {.name = "AllGatherOfTwoInOne",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4]", "f32[4]"},
       .set = Along({0}, {}),
       .result = "f32[8]",
       .error = "expected one result per operand, got f32[8] for 2 operands"},
      {.name = "AllGatherAlongAbsentDimension",
       .opcode = Opcode::kAllGather,
       .operands = {"f32[4]"},
       .set = Along({1}, {}),
       .result = "f32[8]",
       .error = "dimensions: dimension out of range"},
      {.name = "AllGatherStart",
       .opcode = Opcode::kAllGatherStart,
       .operands = {"f32[4]"},
       .result = "(f32[4], f32[8])",
       .own = true},
      {.name = "AllGatherDone",
       .opcode = Opcode::kAllGatherDone,
       .operands = {"(f32[4], f32[8])"},
       .result = "f32[8]",
       .own = true},
  };
}

std::vector<InstructionCase> Exchanging() {
  return {
      {.name = "AllToAll",
       .opcode = Opcode::kAllToAll,
       .operands = {"f32[4,8]"},
       .set = Along({1}, {{0, 1}}),
       .result = "f32[4,8]"},
      {.name = "AllToAllOfTuple",
       .opcode = Opcode::kAllToAll,
       .operands = {"f32[4]", "f32[4]"},
       .set = Among({{0, 1}}),
       .result = "(f32[4], f32[4])"},
      {.name = "AllToAllIndivisible",
       .opcode = Opcode::kAllToAll,
       .operands = {"f32[4,9]"},
       .set = Along({1}, {{0, 1}}),
       .result = "f32[4,9]",
       .error = "the group must divide dimension 1"},
      {.name = "AllToAllOfTooFew",
       .opcode = Opcode::kAllToAll,
       .operands = {"f32[4]", "f32[4]"},
       .set = Among({{0, 1, 2}}),
       .result = "(f32[4], f32[4])",
       .error = "expected one per group member, 3, got 2"},
      {.name = "AllToAllOfDifferentShapes",
       .opcode = Opcode::kAllToAll,
       .operands = {"f32[4]", "f32[5]"},
       .result = "(f32[4], f32[5])",
       .error = "operand 1 differs from operand 0"},
      {.name = "RaggedAllToAll",
       .opcode = Opcode::kRaggedAllToAll,
       .operands = {"f32[8]", "f32[16]", "s32[2]", "s32[2]", "s32[2]",
                    "s32[2]"},
       .result = "f32[16]"},
  };
}

std::vector<InstructionCase> Permuting() {
  return {
      {.name = "CollectivePermute",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]"},
       .set = Pairs({{0, 1, ""}, {1, 0, ""}}),
       .result = "f32[4]"},
      {.name = "CombinedCollectivePermute",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]", "s32[]"},
       .set = Pairs({{0, 1, ""}}),
       .result = "(f32[4], s32[])"},
      {.name = "CollectivePermuteInPlace",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]", "f32[8]", "s32[]", "s32[]"},
       .set = [](Attributes& a) { a.dynamic_slice_sizes = {4}; },
       .result = "f32[8]",
       .own = true},
      {.name = "TwoTargets",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]"},
       .set = Pairs({{0, 1, ""}, {0, 2, ""}}),
       .result = "f32[4]",
       .error = "source 0 is in pairs twice"},
      {.name = "TwoSources",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]"},
       .set = Pairs({{0, 1, ""}, {2, 1, ""}}),
       .result = "f32[4]",
       .error = "target 1 is in pairs twice"},
      {.name = "NegativeTarget",
       .opcode = Opcode::kCollectivePermute,
       .operands = {"f32[4]"},
       .set = Pairs({{0, -1, ""}}),
       .result = "f32[4]",
       .error = "negative target -1 in pairs"},
      {.name = "CollectivePermuteStart",
       .opcode = Opcode::kCollectivePermuteStart,
       .operands = {"f32[4]"},
       .result = "(f32[4], f32[4])",
       .own = true},
      {.name = "CollectivePermuteDone",
       .opcode = Opcode::kCollectivePermuteDone,
       .operands = {"(f32[4], f32[4])"},
       .result = "f32[4]",
       .own = true},
  };
}

std::vector<InstructionCase> OtherCollectives() {
  return {
      {.name = "CollectiveBroadcast",
       .opcode = Opcode::kCollectiveBroadcast,
       .operands = {"f32[4]"},
       .set = Among({{1, 0}}),
       .result = "f32[4]"},
      {.name = "ReplicaId", .opcode = Opcode::kReplicaId, .result = "u32[]"},
      {.name = "PartitionId",
       .opcode = Opcode::kPartitionId,
       .result = "u32[]"},
      {.name = "PartitionIdIsUnsigned",
       .opcode = Opcode::kPartitionId,
       .result = "s32[]",
       .error = "wrong shape; expected u32[], got s32[]"},
  };
}

}  // namespace

std::vector<InstructionCase> CollectiveCases() {
  return Joined({Reducing, BadGroups, Scattering, Moving, Exchanging, Permuting,
                 OtherCollectives});
}

}  // namespace meshwright
