#include "meshwright/search/traffic.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/program_passes/fold_tuples.h"

namespace meshwright {
namespace {

// The share of its result that a kernel writes: updates are in place.
double SharePut(const Instruction& root) {
  const Instruction* update = nullptr;
  if (root.opcode == Opcode::kDynamicUpdateSlice) update = root.operands[1];
  if (root.opcode == Opcode::kScatter) update = root.operands.back();
  const double all = static_cast<double>(ByteSize(root.shape));
  if (update == nullptr || all == 0) return 1;
  return std::min(1.0, static_cast<double>(ByteSize(update->shape)) / all);
}

// By copy: what it is a copy of.
using Copies = absl::flat_hash_map<const Instruction*, const Instruction*>;

void Pair(const Computation& from, const Computation& to, Copies& copies) {
  for (int32_t i = 0; i < from.size(); ++i) {
    const Instruction& source = *from.instruction(i);
    const Instruction& copy = *to.instruction(i);
    if (!copies.try_emplace(&copy, &source).second) return;
    for (size_t c = 0; c < source.called.size(); ++c) {
      Pair(*source.called[c], *copy.called[c], copies);
    }
  }
}

class Reader {
 public:
  // The instructions of kernels are copies of those of the graph, if `copies`
  // is not empty.
  Reader(const FlatGraph& graph, const Copies& copies, StepTraffic& traffic)
      : graph_(graph), copies_(copies), traffic_(traffic) {
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const FlatOp& op = graph.ops[i];
      if (!op.live || op.kind != OpKind::kCompute) continue;
      op_of_[op.instruction] = static_cast<OpId>(i);
      traffic_.ops[i].reads.assign(op.operands.size(), 0);
    }
  }

  void Add(const Kernel& kernel) {
    const OpId root = OpOf(kernel.root);
    // Control flow, or a duplicate of another instruction.
    if (root < 0) return;
    OpTraffic& own = traffic_.ops[root];
    own.is_start = true;
    own.scratch_bytes = static_cast<double>(kernel.scratch_bytes);
    own.has_workspace = kernel.workspace_bytes > 0;
    own.column_steps = kernel.column_steps;
    own.repacked.clear();
    for (const int32_t input : kernel.repacked) {
      own.repacked.push_back(kernel.reads[input].operand);
    }
    AddResult(root, kernel);
    for (const Instruction* result : kernel.more_results) {
      if (const OpId op = OpOf(result); op >= 0) AddResult(op, kernel);
    }
    for (const Instruction* fused : kernel.fused) {
      if (const OpId op = OpOf(fused); op >= 0) AddPart(op, kernel);
    }
    for (const KernelRead& read : kernel.reads) {
      const OpId op = OpOf(read.user);
      if (op < 0 || read.operand >= std::ssize(traffic_.ops[op].reads)) {
        continue;
      }
      const bool in_place =
          read.user->opcode == Opcode::kScatter && read.operand == 0;
      traffic_.ops[op].reads[read.operand] += in_place ? 0 : read.share;
      Touch(graph_.ops[op].operands[read.operand], root);
    }
  }

  // Ops that are not kernels (carries, outputs) read at their own position.
  void AddOthers() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live || op.kind == OpKind::kCompute) continue;
      for (const ValueId operand : op.operands) {
        Touch(operand, static_cast<OpId>(i));
      }
    }
  }

 private:
  OpId OpOf(const Instruction* instruction) const {
    if (const auto copy = copies_.find(instruction); copy != copies_.end()) {
      instruction = copy->second;
    }
    const auto found = op_of_.find(instruction);
    return found == op_of_.end() ? OpId{-1} : found->second;
  }

  void AddResult(OpId op, const Kernel& kernel) {
    traffic_.ops[op].is_root = true;
    traffic_.ops[op].writes = SharePut(*graph_.ops[op].instruction);
    AddPart(op, kernel);
  }

  void AddPart(OpId op, const Kernel& kernel) {
    OpTraffic& traffic = traffic_.ops[op];
    if (traffic.kernels++ == 0) {
      traffic.kernel = kernel.work;
      traffic.strided = kernel.strided;
      traffic.turns_filter = kernel.turns_filter;
      traffic.holds_rows = kernel.holds_rows;
      traffic.unaligned_rows = kernel.unaligned_rows;
    }
  }

  // A read of a reshaped value is a read of the value.
  void Touch(ValueId value, OpId when) {
    for (;;) {
      OpId& last = traffic_.last_read[value];
      last = std::max(last, when);
      const FlatValue& of = graph_.values[value];
      const FlatOp& producer = graph_.ops[of.producer];
      if (producer.kind != OpKind::kCompute || !IsFree(*producer.instruction) ||
          of.result >= std::ssize(producer.operands)) {
        return;
      }
      value = producer.operands[of.result];
    }
  }

  const FlatGraph& graph_;
  const Copies& copies_;
  StepTraffic& traffic_;
  absl::flat_hash_map<const Instruction*, OpId> op_of_;
};

}  // namespace

StepTraffic TrafficOf(const Module& module, const FlatGraph& graph,
                      const FusionStyle& style) {
  StepTraffic traffic;
  traffic.ops.resize(graph.ops.size());
  traffic.last_read.assign(graph.values.size(), OpId{-1});
  // Compilers do not materialise tuples in between.
  std::optional<Module> folded;
  Copies copies;
  if (HandsOnTuples(module) && !HasCalls(module)) {
    folded = InlineCalls(module);
    Pair(*module.entry(), *folded->entry(), copies);
    FoldTuples(*folded);
  }
  const Module& seen = folded.has_value() ? *folded : module;
  Reader reader(graph, copies, traffic);
  for (const auto& [computation, kernels] :
       KernelsOf(seen, ModuleWork(seen), style)) {
    for (const Kernel& kernel : kernels) reader.Add(kernel);
  }
  reader.AddOthers();
  if (HasKernels(module) || !IslandsIn(module).empty()) {
    traffic.bodies = KernelsOf(module, ModuleWork(module), style);
  }
  return traffic;
}

}  // namespace meshwright
