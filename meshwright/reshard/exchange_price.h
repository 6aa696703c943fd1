// The price of communication inside the lowering of an instruction: halos,
// partial results of arg-max, totals of prefix sums, ring attention, and
// everything in a shard_map region.
#ifndef MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_
#define MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/program/program.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Whether the lowering communicates: a factor of kind kExchanged is split, or
// it is a shard_map region.
bool Exchanges(const Rule& rule, const Strategy& strategy);

// Lets lowerings that can choose between forms take the one that is cheaper at
// `prices`.
void ChooseBy(const Prices& prices, LocalProgram& program);

struct Exchange {
  double price = 0;            // Of all its collectives.
  double attention_flops = 0;  // Of the attention calls on one device.
};

// Found by lowering the instruction. Requires: IsValid(rule, strategy, mesh).
Exchange ExchangeOf(const Instruction& instruction, const Rule& rule,
                    const Strategy& strategy, const Mesh& mesh,
                    const Prices& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_
