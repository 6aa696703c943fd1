// Shardings and groups of devices in HLO text.
//
//   {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual}}    {{0,1},{2,3}}
#ifndef MESHWRIGHT_HLO_TEXT_SHARDING_H_
#define MESHWRIGHT_HLO_TEXT_SHARDING_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/op_sharding.h"
#include "meshwright/hlo/text_lexer.h"

namespace meshwright::internal {

OpSharding ReadShardingText(TextLexer& lexer);

// "{{0,1},{2,3}}" or "{}"; "[2,4]<=[8]" and "mesh['a'=2,'b'=4] {'b'}" become
// such lists.
std::vector<std::vector<int64_t>> ReadGroups(TextLexer& lexer);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_TEXT_SHARDING_H_
