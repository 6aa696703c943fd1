// A strategy for every op of a flat graph: the complete decision of how a step
// is partitioned over a mesh.
#ifndef MESHWRIGHT_PARTITION_ASSIGNMENT_H_
#define MESHWRIGHT_PARTITION_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// How a value is resharded if ops need it in another sharding than it has.
enum class Sharing : uint8_t {
  // Once for all users that need the same sharding; hoisted out of loops.
  kOnce,
  kInPlace,  // Once for all users, but in every iteration of the loop it is in.
  kApart,    // For each user separately, and dropped afterwards.
};

// Rules by op. They are large, and the same in every assignment of a step, so
// copies share them.
class SharedRules {
 public:
  SharedRules() : SharedRules(std::vector<Rule>()) {}
  SharedRules(std::vector<Rule> rules)
      : rules_(std::make_shared<const std::vector<Rule>>(std::move(rules))) {}

  operator const std::vector<Rule>&() const { return *rules_; }
  const Rule& operator[](size_t op) const { return (*rules_)[op]; }
  size_t size() const { return rules_->size(); }
  auto begin() const { return rules_->begin(); }
  auto end() const { return rules_->end(); }

 private:
  std::shared_ptr<const std::vector<Rule>> rules_;
};

struct Assignment {
  SharedRules rules;                 // By op.
  std::vector<Strategy> strategies;  // By op.
  std::vector<Sharing> sharing;      // By value; empty: all kOnce.
};

// The rule of every live op; dead ops get an empty rule. In those of loops,
// branches, parameters and outputs every dimension is a kept factor.
std::vector<Rule> RulesOf(const FlatGraph& graph);

// The strategy in which nothing is sharded.
Strategy ReplicatedStrategy(const Rule& rule);

// The strategy that gives the factors of `tensor` the axes by which `sharding`
// splits it, as far as they fit (whole factors, uneven sizes, strides). Ignores
// pending axes.
Strategy StrategyFor(const Rule& rule, const TensorFactors& tensor,
                     const Sharding& sharding, const Mesh& mesh);

// `first`; factors that it leaves unsplit get the axes that `second` gives
// them, as far as these are still free.
Strategy Merged(const Rule& rule, const Strategy& first, const Strategy& second,
                const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ASSIGNMENT_H_
