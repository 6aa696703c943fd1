#include "meshwright/reshard/reshard_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace meshwright {
namespace {

// Arrangements explored in either direction; then the best path so far is
// taken.
constexpr size_t kMaxNodes = 200;

// Relative; a smaller improvement is none.
constexpr double kNoise = 1e-9;

}  // namespace

std::vector<SearchMove> ReshardSearch::Run(const SearchProblem& problem,
                                           double at_most) {
  problem_ = &problem;
  std::vector<SearchMove> moves = PlainMoves(problem, prices_);
  double price = 0;
  for (const SearchMove& move : moves) price += move.price;
  if (price >= at_most * (1 - kNoise)) {
    price = at_most;
    moves.clear();
  }
  best_ = price * (1 - kNoise);
  target_bytes_ = problem.bytes;
  growth_is_wired_ = true;
  shrinkage_ = 1;
  for (const SearchView& view : problem.views) {
    target_bytes_ *= view.growth;
    shrinkage_ *= std::min(view.growth, 1 / view.growth);
    growth_is_wired_ = growth_is_wired_ && !view.resizes;
  }
  for (size_t i = 0; i < problem.blocks.size(); ++i) {
    const double size = static_cast<double>(problem.blocks[i]);
    if (IsSlot(problem.from.of[i])) target_bytes_ *= size;
    if (IsSlot(problem.to.of[i])) target_bytes_ /= size;
    growth_is_wired_ = growth_is_wired_ && problem.to.of[i] != kPending;
  }
  // First the direct paths, which are few, for a good bound.
  for (const bool direct : {true, false}) {
    if (Explore(direct)) moves = Moves();
  }
  return moves;
}

bool ReshardSearch::Explore(bool direct) {
  direct_ = direct;
  best_forward_ = best_backward_ = -1;
  best_permutes_ = false;
  forward_.backward = false;
  backward_.backward = true;
  Start(forward_, problem_->from, problem_->bytes);
  Start(backward_, problem_->to, target_bytes_);
  Settle(forward_, 0, backward_);
  Settle(backward_, 0, forward_);
  while (true) {
    const bool back = Top(backward_) < Top(forward_);
    Front& front = back ? backward_ : forward_;
    if (!Step(front, back ? forward_ : backward_)) break;
  }
  return best_forward_ >= 0;
}

void ReshardSearch::Start(Front& front, const BlockPlaces& places,
                          double bytes) {
  front.nodes.clear();
  front.heap.clear();
  front.index.clear();
  front.nearest.clear();
  front.nodes.push_back({.places = places, .bytes = bytes});
  front.index.emplace(places, 0);
  front.heap.emplace_back(0, 0);
}

double ReshardSearch::AtLeast(const Front& front, const BlockPlaces& places,
                              double bytes) const {
  return front.backward ? AtLeastBackward(places, bytes)
                        : AtLeastForward(places, bytes);
}

// All growth comes over the wire. So do, at the size that is left when all that
// is idle has been sliced off, what is pending and what is in a wrong slot.
double ReshardSearch::AtLeastForward(const BlockPlaces& places,
                                     double bytes) const {
  double idle = 1;
  double pending = 1;
  double misplaced = 1;
  for (size_t i = 0; i < problem_->blocks.size(); ++i) {
    const double size = static_cast<double>(problem_->blocks[i]);
    const Place here = places.of[i];
    const Place there = problem_->to.of[i];
    if (here == kIdle) {
      idle *= size;
    } else if (here == kPending) {
      if (there != kPending) pending *= size;
    } else if (IsSlot(there) && here != there) {
      misplaced = std::max(misplaced, size);
    }
  }
  const double growth =
      growth_is_wired_ ? std::max(0.0, target_bytes_ - bytes) : 0;
  const double least = bytes * shrinkage_ / idle;
  const double wire = growth + (1 - 1 / pending) * least +
                      (1 - 1 / misplaced) * least / pending;
  const int collectives =
      (pending > 1 ? 1 : 0) + (growth > 0 || misplaced > 1 ? 1 : 0);
  return collectives * least_.latency + wire * least_.per_wire_byte;
}

// Counts on a permute; without one, the forward search finds the way.
double ReshardSearch::AtLeastBackward(const BlockPlaces& places,
                                      double bytes) const {
  double rest = 1;
  for (size_t i = 0; i < problem_->blocks.size(); ++i) {
    if (!IsSlot(places.of[i])) {
      rest *= static_cast<double>(problem_->blocks[i]);
    }
  }
  const double growth =
      growth_is_wired_ ? std::max(0.0, bytes - problem_->bytes) : 0;
  const double wire = growth + bytes * shrinkage_ / rest;
  return least_.latency + wire * least_.per_wire_byte;
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
  if (Top(front) >= best_) return false;
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
    if (price >= best_) return;
    best_ = price * (1 - kNoise);
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
  if (const auto same_signature = other.nearest.find(signature);
      same_signature != other.nearest.end()) {
    accept(here.distance + other.nodes[same_signature->second].distance +
               MovePrice(prices_, MoveKind::kPermute, AllAxes(*problem_), 1,
                         here.bytes, here.bytes),
           same_signature->second, /*permutes=*/true);
  }
  // Nodes settle in the order of a bound, not of the distance.
  const auto [entry, inserted] = front.nearest.emplace(signature, node);
  if (!inserted && front.nodes[entry->second].distance > here.distance) {
    entry->second = node;
  }
}

void ReshardSearch::Expand(Front& front, int32_t node) {
  const BlockPlaces places = front.nodes[node].places;
  const BlockLists lists(*problem_, places);
  transfers_.clear();
  AppendTransfers(*problem_, lists, places.switched, front.backward, direct_,
                  &transfers_);
  for (const Transfer& transfer : transfers_) {
    OfferTransfer(front, node, transfer, lists);
  }
  for (size_t i = 0; i < problem_->views.size(); ++i) {
    const int view = static_cast<int>(i);
    if (CanSwitch(*problem_, lists, places.switched, view, front.backward)) {
      OfferSwitch(front, node, view);
    }
  }
}

void ReshardSearch::OfferTransfer(Front& front, int32_t parent,
                                  const Transfer& transfer,
                                  const BlockLists& lists) {
  const double bytes = front.nodes[parent].bytes;
  const double after = BytesAfter(transfer, bytes);
  const uint32_t axes = AxesOf(*problem_, transfer.taken);
  const double price =
      front.backward ? MovePrice(prices_, KindOf(transfer.to, transfer.from),
                                 axes, transfer.size, after, bytes)
                     : MovePrice(prices_, KindOf(transfer.from, transfer.to),
                                 axes, transfer.size, bytes, after);
  const double distance = front.nodes[parent].distance + price;
  const BlockPlaces places = Apply(transfer, lists, front.nodes[parent].places);
  if (Node* node = Reach(front, parent, places, after, distance)) {
    node->transfer = transfer;
    node->view = -1;
  }
}

void ReshardSearch::OfferSwitch(Front& front, int32_t parent, int view) {
  const double bytes = front.nodes[parent].bytes;
  const double growth = problem_->views[view].growth;
  const double after = front.backward ? bytes / growth : bytes * growth;
  const double distance =
      front.nodes[parent].distance +
      SwitchOf(*problem_, prices_, view, front.backward ? after : bytes).price;
  BlockPlaces places = front.nodes[parent].places;
  places.switched ^= uint32_t{1} << view;
  if (Node* node = Reach(front, parent, places, after, distance)) {
    node->view = view;
  }
}

ReshardSearch::Node* ReshardSearch::Reach(Front& front, int32_t parent,
                                          const BlockPlaces& places,
                                          double bytes, double distance) {
  if (distance >= best_) return nullptr;
  const double bound = distance + AtLeast(front, places, bytes);
  if (bound >= best_) return nullptr;
  const auto [entry, inserted] =
      front.index.emplace(places, static_cast<int32_t>(front.nodes.size()));
  if (inserted) {
    front.nodes.push_back({.places = places, .bytes = bytes});
  } else if (front.nodes[entry->second].distance <= distance * (1 + kNoise)) {
    return nullptr;
  }
  Node& node = front.nodes[entry->second];
  node.distance = distance;
  node.parent = parent;
  node.settled = false;
  front.heap.emplace_back(bound, entry->second);
  std::push_heap(front.heap.begin(), front.heap.end(), std::greater<>());
  return &node;
}

SearchMove ReshardSearch::MoveTo(const Front& front, const Node& node) const {
  const Node& parent = front.nodes[node.parent];
  const Node& before = front.backward ? node : parent;
  const Node& after = front.backward ? parent : node;
  const Transfer& t = node.transfer;
  // What is gathered goes in the order in which it lay, all else as it arrives.
  const BlockList& undone = t.from == kIdle ? t.put : t.taken;
  SearchMove move = node.view >= 0
                        ? SwitchOf(*problem_, prices_, node.view, before.bytes)
                        : (front.backward ? MoveOf(*problem_, prices_, t.to,
                                                   t.from, undone, before.bytes)
                                          : MoveOf(*problem_, prices_, t.from,
                                                   t.to, t.put, before.bytes));
  move.after = after.places;
  return move;
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
    moves.push_back(MoveTo(forward_, forward_.nodes[i]));
  }
  std::reverse(moves.begin(), moves.end());
  if (best_permutes_) {
    const Node& middle = backward_.nodes[best_backward_];
    SearchMove permute;
    permute.kind = MoveKind::kPermute;
    permute.after = middle.places;
    permute.wire_bytes = WireBytes(permute.kind, 1, middle.bytes);
    const uint32_t axes = AllAxes(*problem_);
    permute.latency = prices_.Of(permute.kind, axes).latency;
    permute.price =
        MovePrice(prices_, permute.kind, axes, 1, middle.bytes, middle.bytes);
    moves.push_back(permute);
  }
  for (int32_t i = best_backward_; i > 0; i = backward_.nodes[i].parent) {
    moves.push_back(MoveTo(backward_, backward_.nodes[i]));
  }
  return moves;
}

}  // namespace meshwright
