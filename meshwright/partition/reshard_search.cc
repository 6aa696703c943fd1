#include "meshwright/partition/reshard_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

// Placements looked at in either direction; then the best so far is taken.
constexpr size_t kMaxNodes = 4096;
// Relative; what is not better by more is not better.
constexpr double kNoise = 1e-9;

}  // namespace

SearchResult ReshardSearch::Run(const SearchProblem& problem, bool with_moves) {
  problem_ = &problem;
  std::vector<SearchMove> plain = PlainMoves(problem, prices_);
  best_ = 0;
  target_bytes_ = problem.bytes;
  for (const SearchMove& move : plain) best_ += move.price;
  const BlockLists start(problem, problem.from);
  const BlockLists end(problem, problem.to);
  growth_is_wired_ = end.pending.size == 0;
  for (const SearchView& view : problem.views) {
    target_bytes_ *= view.growth;
    growth_is_wired_ = growth_is_wired_ && !view.resizes;
  }
  for (size_t i = 0; i < problem.blocks.size(); ++i) {
    const double size = static_cast<double>(problem.blocks[i]);
    if (IsSlot(problem.from.of[i])) target_bytes_ *= size;
    if (IsSlot(problem.to.of[i])) target_bytes_ /= size;
  }
  best_forward_ = best_backward_ = -1;
  best_permutes_ = false;
  forward_.backward = false;
  backward_.backward = true;
  Start(forward_, problem.from, problem.bytes);
  Start(backward_, problem.to, target_bytes_);
  Settle(forward_, 0, backward_);
  Settle(backward_, 0, forward_);
  while (true) {
    const bool back = Top(backward_) < Top(forward_);
    Front& front = back ? backward_ : forward_;
    if (!Step(front, back ? forward_ : backward_)) break;
  }
  SearchResult result;
  result.price = best_;
  if (with_moves) {
    result.moves = best_forward_ < 0 ? std::move(plain) : Moves();
  }
  return result;
}

void ReshardSearch::Start(Front& front, const BlockPlaces& places,
                          double bytes) {
  front.nodes.clear();
  front.heap.clear();
  front.index.clear();
  front.nearest.clear();
  front.nodes.push_back({.places = places, .bytes = bytes});
  front.index.emplace(places, 0);
  front.heap.emplace_back(AtLeast(front, bytes), 0);
}

// What is still to pay at least from (or to) a placement with these bytes:
// without new pending values only gathers make a tensor grow, and all that it
// grows by comes over the wire.
double ReshardSearch::AtLeast(const Front& front, double bytes) const {
  // Backward nodes end in a permute; else the forward search finds the path.
  const double latency = front.backward ? prices_.latency : 0;
  if (!growth_is_wired_) return latency;
  const double growth =
      front.backward ? bytes - problem_->bytes : target_bytes_ - bytes;
  return latency + std::max(0.0, growth) * prices_.per_wire_byte;
}

double ReshardSearch::Top(Front& front) const {
  while (!front.heap.empty() && front.nodes[front.heap[0].second].settled) {
    std::pop_heap(front.heap.begin(), front.heap.end(), std::greater<>());
    front.heap.pop_back();
  }
  return front.heap.empty() ? std::numeric_limits<double>::infinity()
                            : front.heap[0].first;
}

bool ReshardSearch::Step(Front& front, const Front& other) {
  if (Top(front) >= best_ * (1 - kNoise)) return false;
  if (front.nodes.size() > kMaxNodes) return false;
  Settle(front, front.heap[0].second, other);
  return true;
}

void ReshardSearch::Settle(Front& front, int32_t node, const Front& other) {
  front.nodes[node].settled = true;
  Join(front, node, other);
  Expand(front, node);
}

void ReshardSearch::Join(Front& front, int32_t node, const Front& other) {
  const Node& here = front.nodes[node];
  const auto accept = [&](double price, int32_t there, bool permutes) {
    if (price >= best_ * (1 - kNoise)) return;
    best_ = price;
    best_forward_ = front.backward ? there : node;
    best_backward_ = front.backward ? node : there;
    best_permutes_ = permutes;
  };
  if (const auto same = other.index.find(here.places);
      same != other.index.end() && other.nodes[same->second].settled) {
    accept(here.distance + other.nodes[same->second].distance, same->second,
           /*permutes=*/false);
  }
  const Signature signature = SignatureOf(here.places);
  if (const auto alike = other.nearest.find(signature);
      alike != other.nearest.end()) {
    accept(
        here.distance + other.nodes[alike->second].distance +
            MovePrice(prices_, MoveKind::kPermute, 1, here.bytes, here.bytes),
        alike->second, /*permutes=*/true);
  }
  // Nodes settle in the order of a bound, not of the distance.
  const auto [entry, inserted] = front.nearest.emplace(signature, node);
  if (!inserted && front.nodes[entry->second].distance > here.distance) {
    entry->second = node;
  }
}

void ReshardSearch::Expand(Front& front, int32_t node) {
  const BlockPlaces places = front.nodes[node].places;
  const double bytes = front.nodes[node].bytes;
  const BlockLists lists(*problem_, places);
  transfers_.clear();
  AppendTransfers(*problem_, places, front.backward, &transfers_);
  for (const Transfer& transfer : transfers_) {
    const double after = BytesAfter(transfer, bytes);
    const SearchMove move = front.backward
                                ? MoveOf(*problem_, prices_, transfer.to,
                                         transfer.from, transfer.taken, after)
                                : MoveOf(*problem_, prices_, transfer.from,
                                         transfer.to, transfer.put, bytes);
    Offer(front, node, Apply(transfer, lists, places), after, move);
  }
  for (size_t i = 0; i < problem_->views.size(); ++i) {
    const int view = static_cast<int>(i);
    if (!CanSwitch(*problem_, lists, places.switched, view, front.backward)) {
      continue;
    }
    const double growth = problem_->views[i].growth;
    BlockPlaces switched = places;
    switched.switched ^= uint32_t{1} << view;
    const double after = front.backward ? bytes / growth : bytes * growth;
    Offer(front, node, switched, after,
          SwitchOf(*problem_, prices_, view, front.backward ? after : bytes));
  }
}

void ReshardSearch::Offer(Front& front, int32_t parent,
                          const BlockPlaces& places, double bytes,
                          const SearchMove& move) {
  const double distance = front.nodes[parent].distance + move.price;
  const double bound = distance + AtLeast(front, bytes);
  if (bound >= best_ * (1 - kNoise)) return;
  const auto [entry, inserted] =
      front.index.emplace(places, static_cast<int32_t>(front.nodes.size()));
  if (inserted) {
    front.nodes.push_back({.places = places, .bytes = bytes});
  } else if (front.nodes[entry->second].distance <= distance * (1 + kNoise)) {
    return;
  }
  Node& node = front.nodes[entry->second];
  node.distance = distance;
  node.parent = parent;
  node.settled = false;
  node.move = move;
  front.heap.emplace_back(bound, entry->second);
  std::push_heap(front.heap.begin(), front.heap.end(), std::greater<>());
}

ReshardSearch::Signature ReshardSearch::SignatureOf(
    const BlockPlaces& places) const {
  Signature signature(problem_->slots.size() + 2, 1);
  const size_t slots = problem_->slots.size();
  signature[slots + 1] = places.switched;
  for (size_t i = 0; i < problem_->blocks.size(); ++i) {
    const Place place = places.of[i];
    if (place == kIdle) continue;
    signature[IsSlot(place) ? static_cast<size_t>(SlotOf(place)) : slots] *=
        problem_->blocks[i];
  }
  return signature;
}

std::vector<SearchMove> ReshardSearch::Moves() const {
  std::vector<SearchMove> moves;
  for (int32_t i = best_forward_; i > 0; i = forward_.nodes[i].parent) {
    moves.push_back(forward_.nodes[i].move);
    moves.back().after = forward_.nodes[i].places;
  }
  std::reverse(moves.begin(), moves.end());
  const Node& middle = backward_.nodes[best_backward_];
  if (best_permutes_) {
    SearchMove permute;
    permute.kind = MoveKind::kPermute;
    permute.after = middle.places;
    permute.wire_bytes = WireBytes(permute.kind, 1, middle.bytes);
    permute.price =
        MovePrice(prices_, permute.kind, 1, middle.bytes, middle.bytes);
    moves.push_back(std::move(permute));
  }
  for (int32_t i = best_backward_; i > 0;) {
    const Node& node = backward_.nodes[i];
    moves.push_back(node.move);
    i = node.parent;
    moves.back().after = backward_.nodes[i].places;
  }
  return moves;
}

}  // namespace meshwright
