#include "meshwright/partition/lower_program.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "meshwright/partition/emitter.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule_text.h"

namespace meshwright {
namespace {

// Lowers the entry: its parameters and root keep their structure.
class EntryLowering {
 public:
  EntryLowering(const FlatGraph& graph, const Assignment& assignment,
                Resharder& resharder, LocalProgram& program)
      : graph_(graph),
        program_(program),
        emitter_(graph, assignment, resharder, program) {}

  Computation* Run(const Module& source) {
    Computation* entry = program_.module.AddComputation(
        program_.UniqueName(source.entry()->name()));
    EmitScope scope(&program_, entry);
    EmitParameters(*source.entry(), scope);
    emitter_.EmitRegion(RegionId{0}, scope);
    std::vector<Instruction*> results;
    for (const OpId output : graph_.outputs) {
      const FlatOp& op = graph_.ops[output];
      results.push_back(
          emitter_.Get(scope, op.operands[0], emitter_.OperandOf(output, 0)));
    }
    const Instruction& root = *source.entry()->root();
    size_t next = 0;
    entry->set_root(Assemble(root.shape, results, next, scope.builder));
    return entry;
  }

 private:
  void EmitParameters(const Computation& entry, EmitScope& scope) {
    size_t next = 0;
    for (const Instruction* parameter : entry.Parameters()) {
      const Shape shape = LocalParameterShape(parameter->shape, next);
      next -= Leaves(parameter->shape).size();
      Instruction* local = scope.builder.computation()->AddParameter(
          shape, program_.UniqueName(parameter->name));
      local->metadata = parameter->metadata;
      local->frontend_attributes = parameter->frontend_attributes;
      DefineLeaves(local, next, scope);
    }
  }

  Shape LocalParameterShape(const Shape& shape, size_t& next) const {
    if (!shape.IsTuple()) {
      const ValueId value = graph_.ops[graph_.parameters[next++]].first_result;
      return emitter_.LocalShape(value, emitter_.ShardingOf(value));
    }
    std::vector<Shape> elements;
    for (const Shape& element : shape.tuple_shapes) {
      elements.push_back(LocalParameterShape(element, next));
    }
    return Shape::Tuple(std::move(elements));
  }

  void DefineLeaves(Instruction* value, size_t& next, EmitScope& scope) {
    if (!value->shape.IsTuple()) {
      const ValueId leaf = graph_.ops[graph_.parameters[next++]].first_result;
      emitter_.Define(scope, leaf, emitter_.ShardingOf(leaf), value);
      return;
    }
    for (size_t i = 0; i < value->shape.tuple_shapes.size(); ++i) {
      DefineLeaves(
          scope.builder.GetTupleElement(value, static_cast<int64_t>(i)), next,
          scope);
    }
  }

  const FlatGraph& graph_;
  LocalProgram& program_;
  Emitter emitter_;
};

// Drops sharding annotations of the whole step, which do not apply to a
// device's program.
void DropAnnotations(Module& module) {
  const auto drop = [](auto& attributes) {
    std::erase_if(attributes, [](const auto& attribute) {
      return absl::StartsWith(attribute.first, "xla.sdy.") &&
             !std::ranges::count(kRuleAttributes, attribute.first);
    });
  };
  drop(module.frontend_attributes);
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      drop(instruction->frontend_attributes);
    }
  }
}

}  // namespace

void LowerProgram(const Module& source, const FlatGraph& graph,
                  const Assignment& assignment, Resharder& resharder,
                  LocalProgram& program) {
  EntryLowering lowering(graph, assignment, resharder, program);
  program.module.set_entry(lowering.Run(source));
  program.module.buffer_donors = source.buffer_donors;
  program.module.frontend_attributes = source.frontend_attributes;
  DropAnnotations(program.module);
}

}  // namespace meshwright
