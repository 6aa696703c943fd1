#include "meshwright/analysis/direction.h"

#include <algorithm>

#include "meshwright/analysis/flops.h"

namespace meshwright {
namespace {

// By instruction id: depends on data.
std::vector<bool> Varying(const Computation& entry,
                          const std::vector<bool>& is_data) {
  std::vector<bool> varying(entry.size());
  for (const auto& instruction : entry.instructions()) {
    varying[instruction->id] =
        instruction->opcode == Opcode::kParameter
            ? is_data[instruction->attributes->parameter_number]
            : std::ranges::any_of(instruction->operands,
                                  [&](const Instruction* operand) {
                                    return varying[operand->id];
                                  });
  }
  return varying;
}

}  // namespace

std::vector<bool> NeededBy(const Computation& computation,
                           absl::Span<const int64_t> outputs) {
  std::vector<bool> needed(computation.size());
  for (const int64_t output : outputs) {
    needed[computation.root()->operands[output]->id] = true;
  }
  for (int32_t id = computation.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (const Instruction* operand : computation.instruction(id)->operands) {
      needed[operand->id] = true;
    }
  }
  return needed;
}

std::vector<int32_t> BalancedStages(const Module& module,
                                    const std::vector<bool>& forward,
                                    const std::vector<bool>& is_data,
                                    int32_t stages) {
  const Computation& entry = *module.entry();
  const ModuleWork work(module);
  const std::vector<bool> varying = Varying(entry, is_data);
  const auto weight = [&](int32_t id) {
    const Work done = work.Of(*entry.instruction(id));
    return done.flops + done.transcendentals;
  };
  double total = 0;
  for (int32_t id = 0; id < entry.size(); ++id) {
    if (forward[id] && varying[id]) total += weight(id);
  }
  std::vector<int32_t> stage(entry.size(), -1);
  double before = 0;
  for (int32_t id = 0; id < entry.size(); ++id) {
    if (!forward[id]) continue;
    if (!varying[id]) {
      stage[id] = stages - 1;  // Until its users are known.
      continue;
    }
    // By its middle, so that what is heavy goes where most of it falls.
    const double here = weight(id);
    const double middle = before + here / 2;
    before += here;
    stage[id] = std::min(stages - 1, static_cast<int32_t>(stages * middle /
                                                          std::max(total, 1.)));
  }
  for (int32_t id = entry.size(); id-- > 0;) {
    if (!forward[id]) continue;
    for (const Instruction* operand : entry.instruction(id)->operands) {
      if (!varying[operand->id] && forward[operand->id]) {
        stage[operand->id] = std::min(stage[operand->id], stage[id]);
      }
    }
  }
  return stage;
}

}  // namespace meshwright
