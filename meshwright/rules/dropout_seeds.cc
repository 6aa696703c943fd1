#include "meshwright/rules/dropout_seeds.h"

#include <algorithm>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/ring_attention.h"

namespace meshwright {
namespace {

// A computation of one tuple parameter: the call with another seed.
Computation* CallWithSeed(const Instruction& like, const Shape& arguments,
                          bool causal, int64_t seed, LocalBuilder& outer) {
  LocalProgram& program = outer.program();
  Computation* computation =
      program.module.AddComputation(program.UniqueName("attention_with_seed"));
  Instruction* parameter =
      computation->AddParameter(arguments, program.UniqueName("arguments"));
  LocalBuilder builder(&program, computation);
  builder.set_source(outer.source());
  std::vector<Instruction*> operands;
  for (size_t i = 0; i < arguments.tuple_shapes.size(); ++i) {
    operands.push_back(
        builder.GetTupleElement(parameter, static_cast<int64_t>(i)));
  }
  const std::vector<Instruction*> results =
      CallAttention(like, operands, causal, builder);
  Attributes& attributes = results[0]->operands[0]->attributes.mutate();
  attributes.backend_config = ConfigWithSeed(attributes.backend_config, seed);
  computation->set_root(builder.Tuple(results));
  return computation;
}

}  // namespace

int64_t ShardSeed(int64_t seed, int64_t shard) {
  constexpr uint64_t kStep = 0x9E3779B1;  // Odd: no two shards have one seed.
  const uint64_t sum =
      static_cast<uint64_t>(seed) + kStep * static_cast<uint64_t>(shard);
  return static_cast<int64_t>(sum & 0x7FFFFFFF);
}

std::vector<Instruction*> CallShard(const LocalOp& op,
                                    const FusedAttention& attention,
                                    const std::vector<Instruction*>& operands,
                                    int64_t step, LocalBuilder& builder) {
  const bool causal = attention.causal && step == 0;
  AxisList axes;
  for (int32_t factor = 0; factor < kAttentionShards; ++factor) {
    const AxisList& of = op.axes(factor);
    for (const auto& axis : of) axes.push_back(axis);
  }
  // Micro-batches, which are points in time, have one seed.
  if (attention.dropout <= 0 || builder.device() != nullptr || axes.empty()) {
    return CallAttention(op.instruction, operands, causal, builder);
  }
  const int64_t shards = builder.mesh().Size(axes);
  const int64_t seeds = std::min(shards, kMaxSeeds);
  Instruction* index = builder.AxisIndex(axes);
  if (seeds < shards) {
    index = builder.Binary(
        Opcode::kRemainder, index,
        builder.Constant(ElementType::kS32, static_cast<double>(seeds)));
  }
  Instruction* arguments = builder.Tuple(operands);
  std::vector<Instruction*> inputs = {index};
  std::vector<Computation*> branches;
  for (int64_t i = 0; i < seeds; ++i) {
    inputs.push_back(arguments);
    branches.push_back(
        CallWithSeed(op.instruction, arguments->shape, causal,
                     ShardSeed(attention.seed, step * kMaxSeeds + i), builder));
  }
  Instruction* chosen = builder.Add(
      Opcode::kConditional, branches[0]->root()->shape, std::move(inputs));
  chosen->called = {branches.begin(), branches.end()};
  std::vector<Instruction*> results;
  for (size_t i = 0; i < chosen->shape.tuple_shapes.size(); ++i) {
    results.push_back(builder.GetTupleElement(chosen, static_cast<int64_t>(i)));
  }
  return results;
}

}  // namespace meshwright
