#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "meshwright/program/local_builder.h"
#include "meshwright/program_passes/combine.h"
#include "meshwright/program_passes/reorder.h"

namespace meshwright {
namespace {

// By instruction: the largest number of permutes on a path to it from the
// start. Two with equal numbers never depend on each other.
std::vector<int32_t> PermutesBefore(const Computation& computation) {
  std::vector<int32_t> before(computation.size(), 0);
  for (int32_t id = 0; id < computation.size(); ++id) {
    for (const Instruction* operand : computation.instruction(id)->operands) {
      const bool is_one = operand->opcode == Opcode::kCollectivePermute;
      before[id] = std::max(before[id], before[operand->id] + (is_one ? 1 : 0));
    }
  }
  return before;
}

// Permutes to be combined, and which of them each device takes part in; -1 for
// none.
struct Bundle {
  std::vector<Instruction*> members;
  std::vector<int32_t> sends;
  std::vector<int32_t> receives;

  // Adds the permute if no device sends or receives twice then.
  bool Add(Instruction* permute) {
    const auto& pairs = permute->attributes->source_target_pairs;
    for (const auto& pair : pairs) {
      if (sends[pair.source] >= 0 || receives[pair.target] >= 0) return false;
    }
    const int32_t number = static_cast<int32_t>(members.size());
    for (const auto& pair : pairs) {
      sends[pair.source] = receives[pair.target] = number;
    }
    members.push_back(permute);
    return true;
  }
};

class PermuteCombiner {
 public:
  PermuteCombiner(LocalProgram& program, Computation& computation)
      : program_(program),
        computation_(computation),
        builder_(&program, &computation) {}

  void Run() {
    const std::vector<int32_t> before = PermutesBefore(computation_);
    using Key = std::tuple<int32_t, ElementType, std::vector<int64_t>>;
    std::map<Key, std::vector<Bundle>> bundles;
    for (int32_t id = 0; id < computation_.size(); ++id) {
      Instruction* instruction = computation_.instruction(id);
      if (instruction->opcode != Opcode::kCollectivePermute ||
          !instruction->shape.IsArray() ||
          !program_.collectives.contains(instruction)) {
        continue;
      }
      Insert(instruction, bundles[{before[id], instruction->shape.element_type,
                                   instruction->shape.dimensions}]);
    }
    replacement_.resize(computation_.size(), nullptr);
    Instruction* const root = computation_.root();
    for (const auto& [key, group] : bundles) {
      for (const Bundle& bundle : group) {
        if (bundle.members.size() > 1) Combine(bundle);
      }
    }
    Replace(computation_, replacement_, root);
  }

 private:
  void Insert(Instruction* permute, std::vector<Bundle>& bundles) const {
    for (Bundle& bundle : bundles) {
      if (bundle.Add(permute)) return;
    }
    const std::vector<int32_t> nobody(program_.mesh.device_count(), -1);
    bundles.push_back({.members = {}, .sends = nobody, .receives = nobody});
    bundles.back().Add(permute);
  }

  void Combine(const Bundle& bundle) {
    Instruction* sent = bundle.members[0]->operands[0];
    std::vector<std::pair<int64_t, int64_t>> pairs;
    CollectiveNote note = program_.collectives.at(bundle.members[0]);
    for (size_t i = 0; i < bundle.members.size(); ++i) {
      const Instruction& member = *bundle.members[i];
      for (const auto& pair : member.attributes->source_target_pairs) {
        pairs.emplace_back(pair.source, pair.target);
      }
      if (i == 0) continue;
      sent = Choose(bundle.sends, static_cast<int32_t>(i), member.operands[0],
                    sent);
      note.tensor += "," + program_.collectives.at(&member).tensor;
    }
    Instruction* received = builder_.CollectivePermute(sent, std::move(pairs));
    received->metadata = bundle.members[0]->metadata;
    program_.collectives[received] = std::move(note);
    Instruction* zeros =
        builder_.Broadcast(builder_.Constant(received->shape.element_type, 0),
                           received->shape.dimensions);
    for (size_t i = 0; i < bundle.members.size(); ++i) {
      replacement_[bundle.members[i]->id] =
          Choose(bundle.receives, static_cast<int32_t>(i), received, zeros);
    }
  }

  // `yes` on devices whose number is `number`.
  Instruction* Choose(const std::vector<int32_t>& numbers, int32_t number,
                      Instruction* yes, Instruction* no) {
    if (yes == no) return yes;
    std::vector<int64_t> table;
    for (const int32_t one : numbers) table.push_back(one == number ? 1 : 0);
    return builder_.Select(
        builder_.Compare("EQ", builder_.DeviceTable(table),
                         builder_.Constant(ElementType::kS32, 1)),
        yes, no);
  }

  LocalProgram& program_;
  Computation& computation_;
  LocalBuilder builder_;
  std::vector<Instruction*> replacement_;  // By id.
};

}  // namespace

void CombinePermutes(LocalProgram& program) {
  for (const auto& computation : program.module.computations()) {
    PermuteCombiner(program, *computation).Run();
  }
}

}  // namespace meshwright
