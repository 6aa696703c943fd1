// From any sharding of a tensor to any other by the cheapest sequence of moves.
//
//   Resharder resharder(&mesh, Prices());           // mesh a=2,b=2,c=2
//   resharder.Path(ElementType::kF32, from, to);    // [(a,b), -] to [b, -]
//     // permute to [(b,a), -], all-gather a
#ifndef MESHWRIGHT_RESHARD_RESHARD_H_
#define MESHWRIGHT_RESHARD_RESHARD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "meshwright/base/element_type.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/reshard/known_ways.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/reshard/reshard_search.h"
#include "meshwright/reshard/reshard_ways.h"

namespace meshwright {

// Strided dimensions are seen as several: on the way a value has digits for
// dimensions (a regroup tells which), and uneven ones have their padded size.
struct ReshardStep {
  MoveKind kind = MoveKind::kSlice;
  // Along these devices, in this order; none for a permute.
  AxisList axes;
  // Digits that a split leaves and comes to; -1 if none.
  int from = -1;
  int to = -1;
  int64_t size = 0;  // Of a resize: the elements that are not padding.
  Sharding after;    // Of the digits.
  double wire_bytes = 0;
  double price = 0;
};

// Remembers what it was asked. Not thread-safe. Deterministic: answers do not
// depend on what was asked before.
class Resharder {
 public:
  // `mesh` outlives it. `known`: ways on this mesh at these prices, added to;
  // null: none yet.
  Resharder(const Mesh* mesh, const Prices& prices,
            std::shared_ptr<KnownWays> known = nullptr);

  const Mesh& mesh() const { return *mesh_; }

  // Both shardings have the same global dimensions.
  double Price(ElementType type, const Sharding& from, const Sharding& to);
  const std::vector<ReshardStep>& Path(ElementType type, const Sharding& from,
                                       const Sharding& to);

  // For callers that ask often: a number for a sharding. Price of two numbers
  // is a single lookup once known.
  int32_t Number(const Sharding& sharding);
  double Price(ElementType type, int32_t from, int32_t to);

  // Problems solved; other questions had the answer of one of these.
  size_t problem_count() const { return known_->size(); }

  // The price of resolving what is pending, gathering all that differs and
  // slicing. Never below Price.
  double PlainPrice(ElementType type, const Sharding& from, const Sharding& to);

 private:
  struct Pair {
    int32_t from = 0;
    int32_t to = 0;
    int64_t bits = 0;  // Per element.

    bool operator==(const Pair&) const = default;
    template <typename H>
    friend H AbslHashValue(H h, const Pair& pair) {
      return H::combine(std::move(h), pair.from, pair.to, pair.bits);
    }
  };
  // What a way has to pass, if anything.
  std::optional<Sharding> Through(const Sharding& from,
                                  const Sharding& to) const;
  double FindPrice(int64_t bits, const Sharding& from, const Sharding& to);
  const std::vector<ReshardWay>& Ways(const SearchProblem& problem);
  void AppendPath(int64_t bits, const Sharding& from, const Sharding& to,
                  std::vector<ReshardStep>* path);

  const Mesh* mesh_;
  const Prices prices_;
  ReshardSearch search_;
  absl::node_hash_map<Sharding, int32_t> numbers_;
  std::vector<const Sharding*> shardings_;  // By number.
  absl::flat_hash_map<Pair, double> pair_prices_;
  const std::shared_ptr<KnownWays> known_;
  absl::flat_hash_map<Pair, std::unique_ptr<std::vector<ReshardStep>>> paths_;
};

// "slice b to 0, all-reduce a": the moves that do something.
std::string ToString(const std::vector<ReshardStep>& path, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_H_
