// Attention with dropout drops by shard (rules/dropout_seeds.h): forward and
// backward must be split alike, or gradients belong to another mask.
//
// Which backward belongs to which forward is hard to see through loops and
// programs of stages. Calls with the same seed and sizes are all split alike.
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
  // Gives such calls of a program one strategy: as those of earlier programs
  // on an equal mesh, or the one of them that uses most devices.
  void Apply(const FlatGraph& graph, const Mesh& mesh, Assignment& assignment);

 private:
  // By mesh, seed and sizes: the axes of the first factors.
  std::map<std::string, std::vector<AxisList>> known_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_DROPOUT_TIES_H_
