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
#include "meshwright/partition/prices.h"
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
  // alike. Where seeds are strided, also with the rule divided to suit. With
  // `may_move`, also those with axes that do not fit moved to other dimensions.
  // The answer stays valid.
  const std::vector<Candidate>& Get(int32_t rule,
                                    const std::vector<Seed>& seeds,
                                    bool may_move);

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
  absl::flat_hash_map<std::tuple<int32_t, bool, std::vector<Seed>>,
                      std::unique_ptr<std::vector<Candidate>>>
      answers_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_CANDIDATES_H_
