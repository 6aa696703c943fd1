// Strategies worth considering for an op, given how its neighbours lie.
#ifndef MESHWRIGHT_PARTITION_CANDIDATES_H_
#define MESHWRIGHT_PARTITION_CANDIDATES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/pool.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// A strategy with what follows from it.
struct Candidate {
  int32_t rule = 0;  // Of the table: that which was asked for, or a division.
  Strategy strategy;
  std::vector<ShardingId> operands;
  std::vector<ShardingId> results;
  double work = 0;       // Price of computing it once, with what it exchanges.
  bool pending = false;  // A result is a partial value.
};

// A sharding that a neighbour has or wants for operand `tensor`, or, counting
// on after the operands, for result `tensor - operands`.
struct Seed {
  int32_t tensor = 0;
  ShardingId sharding = 0;

  bool operator==(const Seed&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Seed& seed) {
    return H::combine(std::move(h), seed.tensor, seed.sharding);
  }
};

// Strategies that fit less well, and may lead further.
struct Freedom {
  // Axes that do not fit may be moved to other dimensions.
  bool may_move = false;
  // Rules may be divided to suit strided seeds, or be others (OtherRuleFor).
  bool other_rules = false;

  bool operator==(const Freedom&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Freedom& freedom) {
    return H::combine(std::move(h), freedom.may_move, freedom.other_rules);
  }
};

// Whether a factor is summed over in a product of operands, as of a dot.
bool IsContracted(const Rule& rule, int32_t factor);

class CandidateTable {
 public:
  CandidateTable(const Mesh& mesh, const Prices& prices, ShardingPool& pool)
      : mesh_(mesh), prices_(prices), pool_(pool) {}

  // Rules that are equal, with tensors of equal element sizes, share a number;
  // not those of instructions that may communicate by themselves. `instruction`
  // is null for what is none, and outlives the table.
  int32_t InternRule(const Rule& rule, std::vector<int32_t> element_bits,
                     const Instruction* instruction);
  const Rule& rule(int32_t id) const { return rules_[id]->rule; }

  // The strategies that the seeds suggest one by one and together, passing
  // partial values on or not, and computing everything everywhere; no two
  // alike. The answer stays valid.
  const std::vector<Candidate>& Get(int32_t rule,
                                    const std::vector<Seed>& seeds,
                                    const Freedom& freedom);

  Candidate Make(int32_t rule, const Strategy& strategy);

 private:
  struct Known {
    Rule rule;
    std::vector<int32_t> element_bits;  // By tensor, operands first.
    const Instruction* instruction = nullptr;
  };

  const TensorFactors& Tensor(const Rule& rule, int32_t index) const;
  std::vector<Strategy> Suggest(const Rule& rule,
                                const std::vector<Seed>& seeds,
                                bool may_move) const;
  int32_t DivideFor(int32_t rule, const std::vector<Seed>& seeds);
  double Work(const Known& known, const Strategy& strategy) const;

  const Mesh& mesh_;
  const Prices& prices_;
  ShardingPool& pool_;
  std::vector<std::unique_ptr<Known>> rules_;
  absl::flat_hash_map<std::string, int32_t> rule_ids_;
  absl::flat_hash_map<std::tuple<int32_t, Freedom, std::vector<Seed>>,
                      std::unique_ptr<std::vector<Candidate>>>
      answers_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_CANDIDATES_H_
