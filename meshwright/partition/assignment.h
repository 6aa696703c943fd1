// A strategy for every op of a flat graph: the whole decision of how a step is
// split over a mesh.
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

// When ops want a value in another form than it has.
enum class Sharing : uint8_t {
  kOnce,     // Moved once for all that want it alike, ahead of loops too.
  kInPlace,  // The same, but anew in every iteration of the loop it is in.
  kApart,    // Moved for each op that uses it, and let go.
};

// Rules by op. They are large, and the same in every assignment of a step:
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
  std::vector<Sharing> sharing;      // By value; if empty, all kOnce.
};

// The rule of every live op; dead ones get an empty rule. Loops, branches,
// parameters and outputs keep every dimension.
std::vector<Rule> RulesOf(const FlatGraph& graph);

// Everything whole on every device.
Strategy ReplicatedStrategy(const Rule& rule);

// Gives the factors of `tensor` the axes by which `sharding` splits it, as far
// as they fit (whole factors, uneven sizes, strides). Not pending.
Strategy StrategyFor(const Rule& rule, const TensorFactors& tensor,
                     const Sharding& sharding, const Mesh& mesh);

// `first`, and where it leaves factors unsplit what `second` asks for, as long
// as the axes are free.
Strategy Merged(const Rule& rule, const Strategy& first, const Strategy& second,
                const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ASSIGNMENT_H_
