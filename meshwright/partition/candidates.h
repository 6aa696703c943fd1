// Strategies worth considering for an op, given the shardings of its
// neighbours.
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

// A strategy and what follows from it.
struct Candidate {
  // Number in the table: the rule asked for, or a divided form of it.
  int32_t rule = 0;
  Strategy strategy;
  std::vector<ShardingId> operands;
  std::vector<ShardingId> results;
  // Price of one execution, including the communication inside its lowering.
  double work = 0;
  bool pending = false;  // Some result is a partial value.
};

// A sharding that a neighbour has or needs for tensor `tensor` of the op;
// operands are numbered first, then results.
struct Seed {
  int32_t tensor = 0;
  ShardingId sharding;

  bool operator==(const Seed&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Seed& seed) {
    return H::combine(std::move(h), seed.tensor, seed.sharding);
  }
};

// Allows strategies that fit the seeds less well but may lead to better ones.
struct Freedom {
  // Axes that do not fit the seed's dimension may split another one.
  bool may_move = false;
  // Rules may be divided to fit strided seeds, or be alternative rules
  // (OtherRuleFor).
  bool other_rules = false;

  bool operator==(const Freedom&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Freedom& freedom) {
    return H::combine(std::move(h), freedom.may_move, freedom.other_rules);
  }
};

// Whether a factor is contracted between two operands, as k of a dot.
bool IsContracted(const Rule& rule, int32_t factor);

class CandidateTable {
 public:
  CandidateTable(const Mesh& mesh, const Prices& prices, ShardingPool& pool)
      : mesh_(mesh), prices_(prices), pool_(pool) {}

  // A number for a rule. Equal rules whose tensors have equal element sizes
  // share it, except for instructions whose lowering may communicate.
  // `instruction` is null for ops without one, and must outlive the table.
  int32_t InternRule(const Rule& rule, std::vector<int32_t> element_bits,
                     const Instruction* instruction);
  const Rule& rule(int32_t id) const { return rules_[id]->rule; }

  // The strategies that the seeds suggest, one by one and combined, with
  // partial results left pending or not; and the replicated strategy. No two
  // are equal. The reference stays valid.
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
