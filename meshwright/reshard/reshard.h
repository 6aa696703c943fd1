// From any sharding of a tensor to any other by the cheapest sequence of
// collectives and local steps.
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
#include "meshwright/reshard/prices.h"
#include "meshwright/reshard/reshard_path_cache.h"
#include "meshwright/reshard/reshard_paths.h"
#include "meshwright/reshard/reshard_search.h"

namespace meshwright {

// A step of a reshard path. Strided dimensions are seen as several: between the
// ends of a path a value has digits instead of dimensions (a regroup changes
// which), and uneven ones have their padded size.
struct ReshardStep {
  MoveKind kind = MoveKind::kSlice;
  // The axes it spans, in this order; empty for a permute.
  AxisList axes;
  // The digits from which axes are removed and to which they are added; -1 if
  // none.
  int from = -1;
  int to = -1;
  // Of a resize: the number of elements that are not padding.
  int64_t size = 0;
  Sharding after;  // Sharding of the digits.
  double wire_bytes = 0;
  double price = 0;
};

// Memoises its answers. Not thread-safe. Deterministic: answers do not depend
// on earlier questions.
class Resharder {
 public:
  // `mesh` must outlive it. `known`: memoised paths on this mesh at these
  // prices, added to; null: start without any.
  Resharder(const Mesh* mesh, const Prices& prices,
            std::shared_ptr<ReshardPathCache> known = nullptr);

  const Mesh& mesh() const { return *mesh_; }
  const Prices& prices() const { return prices_; }

  // Requires: both shardings have the same global dimensions.
  double Price(ElementType type, const Sharding& from, const Sharding& to);
  const std::vector<ReshardStep>& Path(ElementType type, const Sharding& from,
                                       const Sharding& to);

  // For callers that ask often: a number for a sharding. The price between two
  // numbers is a single lookup once one between tensors of other sizes, split
  // in the same ways, is known.
  int32_t Number(const Sharding& sharding);
  double Price(ElementType type, int32_t from, int32_t to);

  // How many search problems were solved; other questions were answered from
  // these.
  size_t problem_count() const { return known_->size(); }

  // The price of the plain path: reduce what is pending, gather everything that
  // differs, slice. Never below Price.
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
  // What is known of a sharding with a number.
  struct Numbered {
    const Sharding* sharding = nullptr;
    int32_t form = 0;     // A number of its SizelessForm.
    double elements = 0;  // Per device.
  };
  // The sharding of a tensor of which, in evenly split dimensions, only that
  // size is known which devices can divide. Paths between two shardings follow
  // from their forms, but for the bytes.
  Sharding SizelessForm(const Sharding& sharding) const;
  // An intermediate sharding that the path has to pass through, if any.
  std::optional<Sharding> Through(const Sharding& from,
                                  const Sharding& to) const;
  // Null if the path leads through another sharding.
  const std::vector<ReshardPath>* WaysBetween(const Sharding& from,
                                              const Sharding& to);
  const std::vector<ReshardPath>& Ways(const SearchProblem& problem);
  void AppendPath(int64_t bits, const Sharding& from, const Sharding& to,
                  std::vector<ReshardStep>* path);

  const Mesh* mesh_;
  const Prices prices_;
  ReshardSearch search_;
  absl::node_hash_map<Sharding, int32_t> numbers_;
  std::vector<Numbered> numbered_;  // By number.
  absl::flat_hash_map<Sharding, int32_t> forms_;
  // By the forms of two shardings.
  absl::flat_hash_map<std::pair<int32_t, int32_t>,
                      const std::vector<ReshardPath>*>
      ways_;
  const std::shared_ptr<ReshardPathCache> known_;
  absl::flat_hash_map<Pair, std::unique_ptr<std::vector<ReshardStep>>> paths_;
};

// "slice b to 0, all-reduce a": the steps that have an effect.
std::string ToString(const std::vector<ReshardStep>& path, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_H_
