// Minimum s-t cuts (Dinic's algorithm).
//
//   MinCut cut;
//   const int32_t a = cut.AddNode();
//   cut.AddEdge(cut.source(), a, 3);
//   cut.AddEdge(a, cut.sink(), 2);
//   cut.Solve()[a];   // true: the second edge is cut
#ifndef MESHWRIGHT_SOLVE_MIN_CUT_H_
#define MESHWRIGHT_SOLVE_MIN_CUT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace meshwright {

class MinCut {
 public:
  // The cost of an edge that must not be cut. All other costs must sum to less.
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  MinCut() : edges_of_(2) {}

  int32_t source() const { return 0; }
  int32_t sink() const { return 1; }
  int32_t AddNode();
  void AddEdge(int32_t from, int32_t to, int64_t cost);

  // By node: whether it is on the source's side. Of several minimum cuts, the
  // one nearest to the source. Call once.
  std::vector<bool> Solve();

 private:
  struct Edge {
    int32_t to = 0;
    int64_t left = 0;  // Residual capacity.
  };

  bool FindLevels();
  void Augment();

  std::vector<Edge> edges_;  // Edge i and its reverse i ^ 1.
  std::vector<std::vector<int32_t>> edges_of_;
  std::vector<int32_t> levels_;  // Distance from the source; -1 if unreachable.
  std::vector<size_t> next_;  // By node: edges before this one are exhausted.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_MIN_CUT_H_
