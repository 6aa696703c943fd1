#include "meshwright/rules/collectives.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

class Counter {
 public:
  explicit Counter(int64_t device_count) : device_count_(device_count) {}

  void Visit(const Computation& computation, double count) {
    for (const auto& instruction : computation.instructions()) {
      const Opcode opcode = CollectiveOf(instruction->opcode);
      if (opcode != Opcode::kUnknown) Add(*instruction, opcode, count);
      double inner = count;
      if (StructureOf(*instruction) == Structure::kWhile) {
        const std::optional<int64_t> trips = TripCount(*instruction);
        inner *= static_cast<double>(trips.value_or(1));
      }
      for (const Computation* called : instruction->called) {
        if (Holds(*called)) Visit(*called, inner);
      }
    }
  }

  std::vector<CollectiveUse> uses;

 private:
  // Whether there is a collective anywhere below.
  bool Holds(const Computation& computation) {
    if (const auto known = holds_.find(&computation); known != holds_.end()) {
      return known->second;
    }
    bool any = false;
    for (const auto& instruction : computation.instructions()) {
      any = any || CollectiveOf(instruction->opcode) != Opcode::kUnknown;
      for (const Computation* called : instruction->called) {
        any = any || Holds(*called);
      }
    }
    return holds_[&computation] = any;
  }

  void Add(const Instruction& instruction, Opcode opcode, double count) {
    CollectiveUse use{.instruction = &instruction,
                      .kind = std::string(Name(opcode)),
                      .count = count};
    const auto& groups = instruction.attributes->replica_groups;
    use.devices = opcode == Opcode::kCollectivePermute ? 2
                  : groups.empty()                     ? device_count_
                                   : static_cast<int64_t>(groups[0].size());
    for (const Instruction* operand : instruction.operands) {
      use.bytes += ByteSize(operand->shape);
    }
    use.wire_bytes =
        WireBytesOf(opcode, use.devices, static_cast<double>(use.bytes));
    uses.push_back(std::move(use));
  }

  int64_t device_count_;
  absl::flat_hash_map<const Computation*, bool> holds_;
};

}  // namespace

std::vector<CollectiveUse> CollectivesIn(const Module& module,
                                         int64_t device_count) {
  Counter counter(device_count);
  counter.Visit(*module.entry(), 1);
  return std::move(counter.uses);
}

double WireBytesOf(Opcode opcode, int64_t devices, double bytes) {
  const double n = static_cast<double>(devices);
  switch (CollectiveOf(opcode)) {
    case Opcode::kAllReduce:
      return 2 * (n - 1) / n * bytes;
    case Opcode::kAllGather:
      return (n - 1) * bytes;
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
      return (n - 1) / n * bytes;
    default:
      return bytes;
  }
}

}  // namespace meshwright
