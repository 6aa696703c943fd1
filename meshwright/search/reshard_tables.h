// Cost tables of resharding, for the edges of a MeshProblem.
//
// A reshard costs what it takes by itself, but for the latency of its
// all-reduce: programs combine those that do not depend on one another, so that
// each takes its share of a common one (joint_reductions.h), or as much of one
// as it fills.
#ifndef MESHWRIGHT_SEARCH_RESHARD_TABLES_H_
#define MESHWRIGHT_SEARCH_RESHARD_TABLES_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/partition/pool.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/search/step_model.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

class ReshardTables {
 public:
  // All arguments must outlive this. `further_array`: the part of a latency
  // that each further array of a combined all-reduce takes (Rates).
  ReshardTables(const ShardingPool& pool, double further_array,
                Resharder& resharder, Problem& problem)
      : pool_(pool),
        further_array_(further_array),
        resharder_(resharder),
        problem_(problem) {}

  // The costs of resharding `value` from each of `from` to each of `to`, times
  // `weight`, by rows. Equal tables are one.
  int32_t TableOf(const GroupValue& value, const std::vector<ShardingId>& from,
                  const std::vector<ShardingId>& to, double weight);

  double Seconds(const GroupValue& value, ShardingId from, ShardingId to) {
    return SecondsFrom(value, from, {to}, NumbersOf({to}))[0];
  }

  // As the resharder numbers them.
  std::vector<int32_t> NumbersOf(const std::vector<ShardingId>& forms) const;
  // Of one to each of `to`, whose numbers are `numbers`.
  std::vector<double> SecondsFrom(const GroupValue& value, ShardingId from,
                                  const std::vector<ShardingId>& to,
                                  const std::vector<int32_t>& numbers);

 private:
  double Saved(ElementType type, const Sharding& from, const Sharding& to,
               double share);

  const ShardingPool& pool_;
  const double further_array_;
  Resharder& resharder_;
  Problem& problem_;
  // Key: bits of an element, ids of the lists of forms, the weight, and the
  // share of a latency.
  std::map<std::tuple<int64_t, int32_t, int32_t, int64_t, double>, int32_t>
      tables_;
  std::map<std::vector<ShardingId>, int32_t> lists_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_RESHARD_TABLES_H_
