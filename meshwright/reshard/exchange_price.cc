#include "meshwright/reshard/exchange_price.h"

#include "meshwright/rules/collectives.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

bool Exchanges(const Rule& rule, const Strategy& strategy) {
  if (!rule.manual_axes.empty()) return true;
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    if (rule.factors[i].kind == FactorKind::kExchanged &&
        !strategy.factor_axes[i].empty()) {
      return true;
    }
  }
  return false;
}

void ChooseBy(const Prices& prices, LocalProgram& program) {
  program.permute_in_flops = [prices](const AxisList& axes, double bytes) {
    const CollectivePrice& one = prices.Of(MoveKind::kPermute, axes.Bits());
    return (one.latency + bytes * one.per_wire_byte) / prices.per_flop;
  };
}

Exchange ExchangeOf(const Instruction& instruction, const Rule& rule,
                    const Strategy& strategy, const Mesh& mesh,
                    const Prices& prices) {
  LocalProgram program("priced", mesh);
  ChooseBy(prices, program);
  Computation* entry = program.module.AddComputation("entry");
  program.module.set_entry(entry);
  LocalBuilder builder(&program, entry);
  LocalOp local{instruction, rule, strategy, {}};
  for (const Instruction* operand : instruction.operands) {
    for (const Shape* leaf : Leaves(operand->shape)) {
      const size_t i = local.operands.size();
      local.operands.push_back(entry->AddParameter(
          leaf->IsArray()
              ? Shape::Array(
                    leaf->element_type,
                    LocalDimensions(rule, strategy, rule.operands[i], mesh))
              : *leaf,
          program.UniqueName("operand")));
    }
  }
  entry->set_root(builder.Tuple(Lower(local, builder)));
  Exchange exchange;
  for (const auto& one : entry->instructions()) {
    const auto attention = ReadFusedAttention(*one);
    if (attention.has_value()) exchange.attention_flops += attention->Flops();
  }
  for (const CollectiveUse& use :
       CollectivesIn(program.module, mesh.device_count())) {
    const auto note = program.collectives.find(use.instruction);
    const bool known =
        note != program.collectives.end() && !note->second.axes.empty();
    const CollectivePrice& one =
        prices.Of(*PricedAs(use.instruction->opcode),
                  known ? note->second.axes.Bits() : mesh.AllSubAxes().Bits());
    exchange.price +=
        use.count * (one.latency + use.wire_bytes * one.per_wire_byte);
  }
  return exchange;
}

}  // namespace meshwright
