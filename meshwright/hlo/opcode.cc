#include "meshwright/hlo/opcode.h"

#include <array>

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

constexpr auto kNames =
    std::to_array<absl::string_view>({"unknown",
#define MW_NAME(symbol, name) name,
                                      MW_HLO_OPCODES(MW_NAME)
#undef MW_NAME
    });

}  // namespace

absl::string_view Name(Opcode opcode) {
  return kNames[static_cast<size_t>(opcode)];
}

Opcode ParseOpcode(absl::string_view name) {
  static const auto* const opcodes = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, Opcode>();
    for (size_t index = 1; index < kNames.size(); ++index) {
      map->emplace(kNames[index], static_cast<Opcode>(index));
    }
    return map;
  }();
  const auto found = opcodes->find(name);
  return found == opcodes->end() ? Opcode::kUnknown : found->second;
}

}  // namespace meshwright
