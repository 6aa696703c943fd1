#include "meshwright/partition/emitter.h"

#include "meshwright/base/check.h"
#include "meshwright/program_passes/prevent_cse.h"
#include "meshwright/reshard/reshard_emit.h"
#include "meshwright/rules/divide.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {
namespace {

bool IsFor(const EmitScope::Variant& variant, int32_t use) {
  return variant.use == kAnyUse || variant.use == use;
}

}  // namespace

Sharding Emitter::OperandOf(OpId op, int32_t index) const {
  return OperandSharding(assignment_.rules[op], assignment_.strategies[op],
                         index, mesh());
}

Sharding Emitter::ShardingOf(ValueId value) const {
  const OpId op = graph_.values[value].producer;
  return ResultSharding(assignment_.rules[op], assignment_.strategies[op],
                        graph_.values[value].result, mesh());
}

Shape Emitter::LocalShape(ValueId value, const Sharding& sharding) const {
  const Shape& shape = *graph_.values[value].shape;
  if (!shape.IsArray()) return shape;
  return Shape::Array(shape.element_type, LocalDimensions(sharding, mesh()));
}

void Emitter::Define(EmitScope& scope, ValueId value, Sharding sharding,
                     Instruction* instruction) {
  scope.variants[value].push_back({std::move(sharding), instruction});
}

void Emitter::EmitRegion(RegionId region, EmitScope& scope) {
  for (const Region::Item& item : graph_.regions[region].items) {
    switch (item.kind) {
      case Region::Item::Kind::kOp:
        if (const OpId op{item.index}; !IsRepeatable(op)) EmitOp(op, scope);
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

// Whether it is recomputed for each use, in the sharding that is needed.
bool Emitter::IsRepeatable(OpId op) const {
  return graph_.ops[op].kind == OpKind::kCompute &&
         assignment_.rules[op].cheap_to_repeat &&
         assignment_.strategies[op].pending.empty();
}

std::vector<Instruction*> Emitter::EmitWith(OpId id, const Rule& rule,
                                            const Strategy& strategy,
                                            EmitScope& scope) {
  const FlatOp& op = graph_.ops[id];
  LocalOp local{*op.instruction, rule, strategy, {}};
  user_ = id;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    local.operands.push_back(
        Get(scope, op.operands[i],
            OperandSharding(rule, strategy, static_cast<int32_t>(i), mesh())));
  }
  if (op.after >= 0) return {EmitTie(op, local.operands[0], scope)};
  return Lower(local, scope.builder);
}

Instruction* Emitter::EmitTie(const FlatOp& op, Instruction* value,
                              EmitScope& scope) {
  LocalBuilder& builder = scope.builder;
  builder.set_source(op.instruction);
  // Any sharding of it is good enough.
  const auto ties = scope.variants.find(op.after);
  const bool has_tie = ties != scope.variants.end() && !ties->second.empty();
  Instruction* behind = nullptr;
  if (has_tie) {
    Instruction* both = builder.Tuple({value, ties->second[0].value});
    behind = builder.GetTupleElement(
        builder.Add(Opcode::kOptBarrier, both->shape, {both}), 0);
  } else {
    behind = builder.Add(Opcode::kOptBarrier, value->shape, {value});
  }
  builder.set_source(nullptr);
  return behind;
}

void Emitter::EmitOp(OpId id, EmitScope& scope) {
  const FlatOp& op = graph_.ops[id];
  const std::vector<Instruction*> results =
      EmitWith(id, assignment_.rules[id], assignment_.strategies[id], scope);
  for (int32_t i = 0; i < op.result_count; ++i) {
    const ValueId value = op.first_result + i;
    Define(scope, value, ShardingOf(value), results[i]);
  }
}

// `value` in sharding `wanted`: as available, or resharded.
Instruction* Emitter::Get(EmitScope& scope, ValueId value,
                          const Sharding& wanted) {
  const int32_t use = UseOf(value);
  for (const EmitScope::Variant& variant : scope.variants[value]) {
    if (variant.sharding == wanted && IsFor(variant, use)) return variant.value;
  }
  const OpId producer = graph_.values[value].producer;
  const OpId user = user_;
  Instruction* made = nullptr;
  if (IsRepeatable(producer)) made = Repeat(scope, value, wanted);
  user_ = user;
  if (made == nullptr) made = Reshard(scope, value, wanted, use);
  scope.variants[value].push_back({wanted, made, use});
  return made;
}

int32_t Emitter::UseOf(ValueId value) const {
  if (assignment_.sharing.empty()) return kAnyUse;
  switch (assignment_.sharing[value]) {
    case Sharing::kOnce:
      return kAnyUse;
    case Sharing::kInPlace:
      return kLocalUse;
    case Sharing::kApart:
      return kLocalUse + 1 + user_;
  }
  return kAnyUse;
}

// Null if the op cannot produce this sharding itself.
Instruction* Emitter::Repeat(EmitScope& scope, ValueId value,
                             const Sharding& wanted) {
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
      // Produces it in another sharding, to reshard from.
      const Sharding made = ResultSharding(rule, strategy, result, mesh());
      Instruction* local = EmitWith(producer, rule, strategy, scope)[result];
      scope.variants[value].push_back({made, local});
    }
    return nullptr;
  }
  return EmitWith(producer, rule, strategy, scope)[result];
}

Instruction* Emitter::Reshard(EmitScope& scope, ValueId value,
                              const Sharding& wanted, int32_t use) {
  const ElementType type = graph_.values[value].shape->element_type;
  const std::vector<EmitScope::Variant>& variants = scope.variants[value];
  MW_CHECK(!variants.empty()) << "value " << value << " is not at hand";
  const EmitScope::Variant* best = nullptr;
  double best_price = 0;
  for (const EmitScope::Variant& variant : variants) {
    if (!IsFor(variant, use)) continue;
    const double price = resharder_.Price(type, variant.sharding, wanted);
    if (best == nullptr || price < best_price) {
      best = &variant;
      best_price = price;
    }
  }
  scope.builder.set_source(graph_.producer(value).instruction);
  Instruction* result = best->value;
  Sharding from = best->sharding;
  if (completion_ != nullptr && from.IsPending() && !wanted.IsPending()) {
    result = completion_(result, from.reduction, scope.builder);
    from.pending.clear();
    from.reduction = Reduction::kSum;
  }
  const Computation& computation = *scope.builder.computation();
  const int32_t first = computation.size();
  result = EmitReshard(result, from, wanted, resharder_, scope.builder);
  scope.builder.set_source(nullptr);
  for (int32_t id = first; use != kAnyUse && id < computation.size(); ++id) {
    const Instruction* made = computation.instruction(id);
    if (CanStayApart(*made)) program_.collectives.at(made).use = use;
  }
  return result;
}

// Makes the parameter of a new computation, a single tuple, and a scope in
// which its elements are the results of `ops`.
std::unique_ptr<EmitScope> Emitter::Enter(const Computation& source,
                                          const std::vector<OpId>& ops,
                                          const EmitScope& from) {
  Computation* computation =
      program_.module.AddComputation(program_.UniqueName(source.name()));
  auto scope = std::make_unique<EmitScope>(&program_, computation);
  std::vector<Shape> shapes;
  for (const OpId op : ops) {
    const ValueId value = graph_.ops[op].first_result;
    shapes.push_back(LocalShape(value, ShardingOf(value)));
  }
  const Instruction* device = from.builder.device();
  if (device != nullptr) shapes.push_back(device->shape);
  Instruction* parameter = computation->AddParameter(
      Shape::Tuple(std::move(shapes)), program_.UniqueName("arguments"));
  DefineElements(ops, parameter, *scope);
  if (device != nullptr) {
    scope->builder.set_device(scope->builder.GetTupleElement(
        parameter, static_cast<int64_t>(ops.size())));
  }
  return scope;
}

std::vector<OpId> Emitter::Live(const std::vector<OpId>& ops) const {
  std::vector<OpId> live;
  for (const OpId op : ops) {
    if (graph_.ops[op].live) live.push_back(op);
  }
  return live;
}

// A tuple of operand `index` of each of `ops`, in the shardings that the ops
// need; and of the device number, if it was given.
Instruction* Emitter::TupleOfOperands(const std::vector<OpId>& ops,
                                      int32_t index, EmitScope& scope) {
  std::vector<Instruction*> values;
  for (const OpId op : ops) {
    user_ = op;
    values.push_back(
        Get(scope, graph_.ops[op].operands[index], OperandOf(op, index)));
  }
  if (Instruction* device = scope.builder.device()) values.push_back(device);
  return scope.builder.Tuple(std::move(values));
}

void Emitter::DefineElements(const std::vector<OpId>& ops, Instruction* tuple,
                             EmitScope& scope) {
  for (size_t i = 0; i < ops.size(); ++i) {
    const ValueId value = graph_.ops[ops[i]].first_result;
    Define(scope, value, ShardingOf(value),
           scope.builder.GetTupleElement(tuple, static_cast<int64_t>(i)));
  }
}

void Emitter::EmitLoop(const Loop& loop, EmitScope& scope) {
  const std::vector<OpId> carries = Live(loop.carries);
  Instruction* start = TupleOfOperands(carries, 0, scope);
  const std::unique_ptr<EmitScope> body =
      Enter(*graph_.regions[loop.body].computation, carries, scope);
  EmitRegion(loop.body, *body);
  Computation* body_computation = body->builder.computation();
  body_computation->set_root(TupleOfOperands(carries, 1, *body));
  const std::unique_ptr<EmitScope> condition =
      Enter(*graph_.regions[loop.condition].computation, carries, scope);
  EmitRegion(loop.condition, *condition);
  Computation* condition_computation = condition->builder.computation();
  condition_computation->set_root(
      Get(*condition, loop.go_on, Sharding::Replicated({})));
  Instruction* result =
      scope.builder.Add(loop.instruction->opcode, start->shape, {start},
                        *loop.instruction->attributes);
  result->called = {body_computation, condition_computation};
  result->metadata.op_name = loop.instruction->metadata.op_name;
  DefineElements(carries, result, scope);
}

void Emitter::EmitBranch(const Branch& branch, EmitScope& scope) {
  const std::vector<OpId> merges = Live(branch.merges);
  std::vector<Instruction*> operands = {
      Get(scope, branch.selector, Sharding::Replicated({}))};
  std::vector<Computation*> called;
  Shape shape;
  for (size_t i = 0; i < branch.regions.size(); ++i) {
    const std::vector<OpId> enters = Live(branch.enters[i]);
    operands.push_back(TupleOfOperands(enters, 0, scope));
    const std::unique_ptr<EmitScope> inside =
        Enter(*graph_.regions[branch.regions[i]].computation, enters, scope);
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

}  // namespace meshwright
