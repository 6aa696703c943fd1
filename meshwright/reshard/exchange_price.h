// What the lowering of an instruction communicates by itself: halos, partial
// results of arg-max, totals of running sums.
#ifndef MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_
#define MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Whether a factor of kind kExchanged is split: no others communicate.
bool Exchanges(const Rule& rule, const Strategy& strategy);

// The price of the collectives that lowering emits; found by lowering.
// Requires: IsValid(rule, strategy, mesh).
double ExchangePrice(const Instruction& instruction, const Rule& rule,
                     const Strategy& strategy, const Mesh& mesh,
                     const Prices& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_EXCHANGE_PRICE_H_
