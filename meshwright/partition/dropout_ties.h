// Attention with dropout draws its mask per shard (rules/dropout_seeds.h), so
// that forward and backward must have the same sharding, or gradients belong to
// another mask than the outputs.
//
// Which backward call belongs to which forward call is hard to tell through
// loops and the programs of stages. Therefore all calls with the same seed and
// sizes get the same sharding.
#ifndef MESHWRIGHT_PARTITION_DROPOUT_TIES_H_
#define MESHWRIGHT_PARTITION_DROPOUT_TIES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {

class DropoutTies {
 public:
  // Gives such calls of a program one strategy: that of earlier programs on an
  // equal mesh, or else the one among them that uses most devices.
  void Apply(const FlatGraph& graph, const Mesh& mesh, Assignment& assignment);

 private:
  // Key: mesh, seed and sizes. Value: axes of the first factors.
  std::map<std::string, std::vector<AxisList>> known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_DROPOUT_TIES_H_
