#include "meshwright/partition/partition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/partition/instruction_pins.h"
#include "meshwright/partition/lower_program.h"
#include "meshwright/partition/sharding_groups.h"
#include "meshwright/partition/supported.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/partition/whole_ops.h"
#include "meshwright/program/program.h"
#include "meshwright/program_passes/combine.h"
#include "meshwright/program_passes/hoist.h"
#include "meshwright/program_passes/prevent_cse.h"
#include "meshwright/program_passes/simplify.h"
#include "meshwright/program_passes/sink_reductions.h"
#include "meshwright/reshard/exchange_price.h"
#include "meshwright/rules/collectives.h"
#include "meshwright/rules/fused_attention.h"

namespace meshwright {
namespace {

// Parameters may be pinned as instructions, too.
void PinParameters(const FlatGraph& graph, Pins& pins) {
  pins.parameters.resize(graph.parameters.size());
  for (const InstructionPin& pin : InstructionPins(graph, pins)) {
    const auto found =
        std::find(graph.parameters.begin(), graph.parameters.end(),
                  graph.values[pin.value].producer);
    if (found == graph.parameters.end()) continue;
    std::optional<Annotation>& given =
        pins.parameters[found - graph.parameters.begin()];
    if (!given.has_value()) given = *pin.asked;
  }
}

// The leaf number of a path into a tuple shape.
class LeafPositions {
 public:
  explicit LeafPositions(const Shape& shape) : shape_(shape) {
    size_t next = 0;
    for (const Shape& element : shape.tuple_shapes) {
      first_.push_back(next);
      next += Leaves(element).size();
    }
  }

  size_t At(const std::vector<int64_t>& path) const {
    if (path.empty()) return 0;
    size_t leaf = first_[path[0]];
    const Shape* at = &shape_.tuple_shapes[path[0]];
    for (size_t depth = 1; depth < path.size(); ++depth) {
      for (int64_t i = 0; i < path[depth]; ++i) {
        leaf += Leaves(at->tuple_shapes[i]).size();
      }
      at = &at->tuple_shapes[path[depth]];
    }
    return leaf;
  }

 private:
  const Shape& shape_;
  std::vector<size_t> first_;  // By element.
};

// Leaves of parameters and root that share memory.
struct AliasedLeaves {
  size_t parameter = 0;
  size_t output = 0;
};

std::vector<AliasedLeaves> LeavesOfAliases(const Module& module) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::vector<size_t> first = {0};
  for (const Instruction* parameter : parameters) {
    first.push_back(first.back() + Leaves(parameter->shape).size());
  }
  const LeafPositions root(module.entry()->root()->shape);
  std::vector<AliasedLeaves> leaves;
  for (const Alias& alias : module.aliases) {
    const Instruction& parameter = *parameters[alias.parameter_number];
    leaves.push_back(
        {first[alias.parameter_number] +
             LeafPositions(parameter.shape).At(alias.parameter_index),
         root.At(alias.output_index)});
  }
  return leaves;
}

// A donated parameter and the output that reuses its buffer get the same
// sharding.
void PinAliases(const Module& module, const FlatGraph& graph, Pins& pins) {
  pins.parameters.resize(graph.parameters.size());
  pins.outputs.resize(graph.outputs.size());
  const std::vector<const Shape*> shapes =
      Leaves(module.entry()->root()->shape);
  for (const AliasedLeaves& alias : LeavesOfAliases(module)) {
    std::optional<Annotation>& in = pins.parameters[alias.parameter];
    std::optional<Annotation>& out = pins.outputs[alias.output];
    if (!in.has_value()) in = out;
    if (!out.has_value()) out = in;
    if (!out.has_value()) {
      out = Annotation(Sharding::Replicated(shapes[alias.output]->dimensions));
    }
  }
}

// The shardings of parameters and outputs, by leaf.
struct EntryShardings {
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
};

EntryShardings ShardingsOf(const FlatGraph& graph, const Assignment& assignment,
                           const Mesh& mesh) {
  EntryShardings shardings;
  for (const OpId op : graph.parameters) {
    shardings.parameters.push_back(ResultSharding(
        assignment.rules[op], assignment.strategies[op], 0, mesh));
  }
  for (const OpId op : graph.outputs) {
    shardings.outputs.push_back(OperandSharding(
        assignment.rules[op], assignment.strategies[op], 0, mesh));
  }
  return shardings;
}

// Dimensions that a pin leaves open may have been sharded differently on the
// two sides of an alias: pins the output to the parameter's sharding. Returns
// whether that was necessary.
bool CloseAliases(const Module& module, const EntryShardings& chosen,
                  Pins& pins) {
  bool is_changed = false;
  for (const AliasedLeaves& alias : LeavesOfAliases(module)) {
    std::optional<Annotation>& in = pins.parameters[alias.parameter];
    std::optional<Annotation>& out = pins.outputs[alias.output];
    const Sharding& sharding = chosen.parameters[alias.parameter];
    if (!in.has_value() || in->free.empty() || !(*in == *out) ||
        sharding == chosen.outputs[alias.output]) {
      continue;
    }
    in = out = Annotation(sharding);
    is_changed = true;
  }
  return is_changed;
}

// The aliases whose two sides have equal shardings.
std::vector<Alias> EqualAliases(const Module& module,
                                const EntryShardings& chosen) {
  const std::vector<AliasedLeaves> leaves = LeavesOfAliases(module);
  std::vector<Alias> kept;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (chosen.parameters[leaves[i].parameter] ==
        chosen.outputs[leaves[i].output]) {
      kept.push_back(module.aliases[i]);
    }
  }
  return kept;
}

std::vector<Collective> Report(const LocalProgram& program) {
  std::vector<Collective> report;
  for (const CollectiveUse& use :
       CollectivesIn(program.module, program.mesh.device_count())) {
    Collective collective{.kind = use.kind,
                          .devices = use.devices,
                          .bytes = use.bytes,
                          .wire_bytes = use.wire_bytes,
                          .count = use.count};
    const auto note = program.collectives.find(use.instruction);
    if (note != program.collectives.end()) {
      collective.axes = AxesToString(note->second.axes, program.mesh);
      collective.tensor = note->second.tensor;
    }
    report.push_back(std::move(collective));
  }
  return report;
}

}  // namespace

absl::StatusOr<Partitioned> PartitionAs(const Module& module, const Mesh& mesh,
                                        const FlatGraph& graph,
                                        const Assignment& given,
                                        Resharder& resharder,
                                        DropoutTies* ties) {
  Assignment assignment = given;
  DropoutTies own;
  (ties == nullptr ? own : *ties).Apply(graph, mesh, assignment);
  LocalProgram program(module.name(), mesh);
  ChooseBy(resharder.prices(), program);
  LowerProgram(module, graph, assignment, resharder, program);
  KernelsToCalls(program.module);
  Simplify(program);
  HoistCollectives(program);
  Simplify(program);
  SinkReductions(program);
  CombinePermutes(program);
  CombineAllReduces(program, kMaxCombinedBytes);
  PreventCse(program);
  EntryShardings shardings = ShardingsOf(graph, assignment, mesh);
  program.module.aliases = EqualAliases(module, shardings);
  program.module.Finish();
  MW_RETURN_IF_ERROR(Annotate(Verify(program.module),
                              "internal error: the partitioned program"));
  std::vector<Collective> collectives = Report(program);
  Partitioned result{.module = std::move(program.module),
                     .mesh = mesh,
                     .parameters = std::move(shardings.parameters),
                     .outputs = std::move(shardings.outputs),
                     .collectives = std::move(collectives)};
  for (const OpId op : WholeOps(graph, assignment.rules)) {
    result.fallbacks.push_back(graph.ops[op].instruction->name);
  }
  if (std::string note =
          DropoutNote(module, mesh.device_count(), /*micro_batches=*/1);
      !note.empty()) {
    result.notes.push_back(std::move(note));
  }
  return result;
}

absl::StatusOr<Partitioned> Partition(const Module& module, const Mesh& mesh,
                                      Pins pins, const Prices& prices,
                                      DropoutTies* ties) {
  const FlatGraph graph = Flatten(module);
  MW_RETURN_IF_ERROR(CheckSupported(graph));
  MW_RETURN_IF_ERROR(CheckIslands(module, mesh));
  MW_RETURN_IF_ERROR(CheckPins(module, graph, mesh, pins));
  PinParameters(graph, pins);
  MW_RETURN_IF_ERROR(PinParametersOfGroups(graph, pins));
  PinAliases(module, graph, pins);
  Resharder resharder(&mesh, prices);
  MW_ASSIGN_OR_RETURN(Assignment assignment,
                      Complete(graph, pins, mesh, prices, resharder));
  if (CloseAliases(module, ShardingsOf(graph, assignment, mesh), pins)) {
    MW_ASSIGN_OR_RETURN(assignment,
                        Complete(graph, pins, mesh, prices, resharder));
  }
  return PartitionAs(module, mesh, graph, assignment, resharder, ties);
}

}  // namespace meshwright
