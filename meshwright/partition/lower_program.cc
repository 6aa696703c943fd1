#include "meshwright/partition/lower_program.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/check.h"
#include "meshwright/partition/reshard_emit.h"
#include "meshwright/rules/divide.h"
#include "meshwright/rules/local_builder.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {
namespace {

// A value as it is at hand in a computation.
struct Variant {
  Sharding sharding;
  Instruction* value = nullptr;
};

// A region while it is being emitted.
struct Scope {
  Scope(LocalProgram* program, Computation* to) : builder(program, to) {}

  LocalBuilder builder;
  absl::flat_hash_map<ValueId, std::vector<Variant>> variants;
};

class Emitter {
 public:
  Emitter(const FlatGraph& graph, const Assignment& assignment,
          Resharder& resharder, LocalProgram& program)
      : graph_(graph),
        assignment_(assignment),
        resharder_(resharder),
        program_(program) {}

  Computation* EmitEntry(const Module& source) {
    Computation* entry = program_.module.AddComputation(
        program_.UniqueName(source.entry()->name()));
    Scope scope(&program_, entry);
    EmitParameters(*source.entry(), scope);
    EmitRegion(0, scope);
    std::vector<Instruction*> results;
    for (const OpId output : graph_.outputs) {
      const FlatOp& op = graph_.ops[output];
      results.push_back(Get(scope, op.operands[0], OperandOf(output, 0)));
    }
    const Instruction& root = *source.entry()->root();
    size_t next = 0;
    entry->set_root(Assemble(root.shape, results, next, scope.builder));
    return entry;
  }

 private:
  const Mesh& mesh() const { return program_.mesh; }

  Sharding OperandOf(OpId op, int32_t index) const {
    return OperandSharding(assignment_.rules[op], assignment_.strategies[op],
                           index, mesh());
  }
  Sharding ResultOf(OpId op, int32_t index) const {
    return ResultSharding(assignment_.rules[op], assignment_.strategies[op],
                          index, mesh());
  }
  Sharding ShardingOf(ValueId value) const {
    return ResultOf(graph_.values[value].producer, graph_.values[value].result);
  }
  Shape LocalShape(ValueId value, const Sharding& sharding) const {
    const Shape& shape = *graph_.values[value].shape;
    if (!shape.IsArray()) return shape;
    return Shape::Array(shape.element_type, LocalDimensions(sharding, mesh()));
  }

  static Instruction* Assemble(const Shape& shape,
                               const std::vector<Instruction*>& leaves,
                               size_t& next, LocalBuilder& builder) {
    if (!shape.IsTuple()) return leaves[next++];
    std::vector<Instruction*> elements;
    for (const Shape& element : shape.tuple_shapes) {
      elements.push_back(Assemble(element, leaves, next, builder));
    }
    return builder.Tuple(std::move(elements));
  }

  void EmitParameters(const Computation& entry, Scope& scope) {
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
      return LocalShape(value, ShardingOf(value));
    }
    std::vector<Shape> elements;
    for (const Shape& element : shape.tuple_shapes) {
      elements.push_back(LocalParameterShape(element, next));
    }
    return Shape::Tuple(std::move(elements));
  }

  void DefineLeaves(Instruction* value, size_t& next, Scope& scope) {
    if (!value->shape.IsTuple()) {
      Define(scope, graph_.ops[graph_.parameters[next++]].first_result, value);
      return;
    }
    for (size_t i = 0; i < value->shape.tuple_shapes.size(); ++i) {
      DefineLeaves(
          scope.builder.GetTupleElement(value, static_cast<int64_t>(i)), next,
          scope);
    }
  }

  void Define(Scope& scope, ValueId value, Instruction* instruction) {
    scope.variants[value].push_back({ShardingOf(value), instruction});
  }

  void EmitRegion(RegionId region, Scope& scope) {
    for (const Region::Item& item : graph_.regions[region].items) {
      switch (item.kind) {
        case Region::Item::Kind::kOp:
          if (!IsRepeatable(item.index)) EmitOp(item.index, scope);
          break;
        case Region::Item::Kind::kLoop:
          EmitLoop(graph_.loops[item.index], scope);
          break;
        case Region::Item::Kind::kBranch:
          EmitBranch(graph_.branches[item.index], scope);
          break;
      }
    }
  }

  // Made where it is used, in the sharding that is asked for.
  bool IsRepeatable(OpId op) const {
    return graph_.ops[op].kind == OpKind::kCompute &&
           assignment_.rules[op].cheap_to_repeat &&
           assignment_.strategies[op].pending.empty();
  }

  std::vector<Instruction*> EmitWith(OpId id, const Rule& rule,
                                     const Strategy& strategy, Scope& scope) {
    const FlatOp& op = graph_.ops[id];
    LocalOp local{*op.instruction, rule, strategy, {}};
    for (size_t i = 0; i < op.operands.size(); ++i) {
      local.operands.push_back(Get(
          scope, op.operands[i],
          OperandSharding(rule, strategy, static_cast<int32_t>(i), mesh())));
    }
    return Lower(local, scope.builder);
  }

  void EmitOp(OpId id, Scope& scope) {
    const FlatOp& op = graph_.ops[id];
    const std::vector<Instruction*> results =
        EmitWith(id, assignment_.rules[id], assignment_.strategies[id], scope);
    for (int32_t i = 0; i < op.result_count; ++i) {
      Define(scope, op.first_result + i, results[i]);
    }
  }

  // `value` in the sharding `wanted`: as it is, or made from what is at hand.
  Instruction* Get(Scope& scope, ValueId value, const Sharding& wanted) {
    for (const Variant& variant : scope.variants[value]) {
      if (variant.sharding == wanted) return variant.value;
    }
    const OpId producer = graph_.values[value].producer;
    Instruction* made = nullptr;
    if (IsRepeatable(producer)) made = Repeat(scope, value, wanted);
    if (made == nullptr) made = Reshard(scope, value, wanted);
    scope.variants[value].push_back({wanted, made});
    return made;
  }

  // Null when the op cannot give this sharding by itself.
  Instruction* Repeat(Scope& scope, ValueId value, const Sharding& wanted) {
    const OpId producer = graph_.values[value].producer;
    const int32_t result = graph_.values[value].result;
    const Rule& given = assignment_.rules[producer];
    const Rule rule =
        Divided(given, static_cast<int32_t>(given.operands.size()) + result,
                wanted)
            .value_or(given);
    Sharding resolved = wanted;
    resolved.pending.clear();
    resolved.reduction = Reduction::kSum;
    const Strategy strategy =
        StrategyFor(rule, rule.results[result], resolved, mesh());
    if (ResultSharding(rule, strategy, result, mesh()) != wanted) {
      if (scope.variants[value].empty()) {
        // Something to reshard from.
        const Sharding made = ResultSharding(rule, strategy, result, mesh());
        Instruction* local = EmitWith(producer, rule, strategy, scope)[result];
        scope.variants[value].push_back({made, local});
      }
      return nullptr;
    }
    return EmitWith(producer, rule, strategy, scope)[result];
  }

  Instruction* Reshard(Scope& scope, ValueId value, const Sharding& wanted) {
    const ElementType type = graph_.values[value].shape->element_type;
    const std::vector<Variant>& variants = scope.variants[value];
    MW_CHECK(!variants.empty()) << "value " << value << " is not at hand";
    const Variant* best = nullptr;
    double best_price = 0;
    for (const Variant& variant : variants) {
      const double price = resharder_.Price(type, variant.sharding, wanted);
      if (best == nullptr || price < best_price) {
        best = &variant;
        best_price = price;
      }
    }
    scope.builder.set_source(graph_.producer(value).instruction);
    Instruction* result = EmitReshard(best->value, best->sharding, wanted,
                                      resharder_, scope.builder);
    scope.builder.set_source(nullptr);
    return result;
  }

  // The parameter of a new computation, one tuple, and a scope that knows its
  // elements as the results of `ops`.
  std::unique_ptr<Scope> Enter(const Computation& source,
                               const std::vector<OpId>& ops) {
    Computation* computation =
        program_.module.AddComputation(program_.UniqueName(source.name()));
    auto scope = std::make_unique<Scope>(&program_, computation);
    std::vector<Shape> shapes;
    for (const OpId op : ops) {
      const ValueId value = graph_.ops[op].first_result;
      shapes.push_back(LocalShape(value, ShardingOf(value)));
    }
    Instruction* parameter = computation->AddParameter(
        Shape::Tuple(std::move(shapes)), program_.UniqueName("arguments"));
    for (size_t i = 0; i < ops.size(); ++i) {
      Define(
          *scope, graph_.ops[ops[i]].first_result,
          scope->builder.GetTupleElement(parameter, static_cast<int64_t>(i)));
    }
    return scope;
  }

  std::vector<OpId> Live(const std::vector<OpId>& ops) const {
    std::vector<OpId> live;
    for (const OpId op : ops) {
      if (graph_.ops[op].live) live.push_back(op);
    }
    return live;
  }

  // The operands `index` of `ops`, as the ops want them, in one tuple.
  Instruction* TupleOfOperands(const std::vector<OpId>& ops, int32_t index,
                               Scope& scope) {
    std::vector<Instruction*> values;
    for (const OpId op : ops) {
      values.push_back(
          Get(scope, graph_.ops[op].operands[index], OperandOf(op, index)));
    }
    return scope.builder.Tuple(std::move(values));
  }

  void DefineElements(const std::vector<OpId>& ops, Instruction* tuple,
                      Scope& scope) {
    for (size_t i = 0; i < ops.size(); ++i) {
      Define(scope, graph_.ops[ops[i]].first_result,
             scope.builder.GetTupleElement(tuple, static_cast<int64_t>(i)));
    }
  }

  void EmitLoop(const Loop& loop, Scope& scope) {
    const std::vector<OpId> carries = Live(loop.carries);
    Instruction* start = TupleOfOperands(carries, 0, scope);
    const std::unique_ptr<Scope> body =
        Enter(*graph_.regions[loop.body].computation, carries);
    EmitRegion(loop.body, *body);
    Computation* body_computation = body->builder.computation();
    body_computation->set_root(TupleOfOperands(carries, 1, *body));
    const std::unique_ptr<Scope> condition =
        Enter(*graph_.regions[loop.condition].computation, carries);
    EmitRegion(loop.condition, *condition);
    Computation* condition_computation = condition->builder.computation();
    condition_computation->set_root(
        Get(*condition, loop.go_on, Sharding::Replicated({})));
    Instruction* result =
        scope.builder.Add(loop.instruction->opcode, start->shape, {start},
                          *loop.instruction->attributes);
    result->called = {body_computation, condition_computation};
    DefineElements(carries, result, scope);
  }

  void EmitBranch(const Branch& branch, Scope& scope) {
    const std::vector<OpId> merges = Live(branch.merges);
    std::vector<Instruction*> operands = {
        Get(scope, branch.selector, Sharding::Replicated({}))};
    std::vector<Computation*> called;
    Shape shape;
    for (size_t i = 0; i < branch.regions.size(); ++i) {
      const std::vector<OpId> enters = Live(branch.enters[i]);
      operands.push_back(TupleOfOperands(enters, 0, scope));
      const std::unique_ptr<Scope> inside =
          Enter(*graph_.regions[branch.regions[i]].computation, enters);
      EmitRegion(branch.regions[i], *inside);
      Instruction* root =
          TupleOfOperands(merges, static_cast<int32_t>(i), *inside);
      inside->builder.computation()->set_root(root);
      called.push_back(inside->builder.computation());
      shape = root->shape;
    }
    Instruction* result =
        scope.builder.Add(branch.instruction->opcode, std::move(shape),
                          std::move(operands), *branch.instruction->attributes);
    result->called = std::move(called);
    DefineElements(merges, result, scope);
  }

  const FlatGraph& graph_;
  const Assignment& assignment_;
  Resharder& resharder_;
  LocalProgram& program_;
};

}  // namespace

void LowerProgram(const Module& source, const FlatGraph& graph,
                  const Assignment& assignment, Resharder& resharder,
                  LocalProgram& program) {
  Emitter emitter(graph, assignment, resharder, program);
  program.module.set_entry(emitter.EmitEntry(source));
  program.module.aliases = source.aliases;
  program.module.buffer_donors = source.buffer_donors;
  program.module.frontend_attributes = source.frontend_attributes;
}

}  // namespace meshwright
