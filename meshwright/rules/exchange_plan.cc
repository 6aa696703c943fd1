#include "meshwright/rules/exchange_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

int64_t Length(const ElementLists& lists) {
  return static_cast<int64_t>(lists[0].size());
}

// The largest block size at which every list is a list of whole blocks.
int64_t CommonUnit(const ElementLists& held, const ElementLists& needed) {
  int64_t unit = 0;
  for (const ElementLists* lists : {&held, &needed}) {
    for (const std::vector<int64_t>& list : *lists) {
      unit = std::gcd(unit, static_cast<int64_t>(list.size()));
      for (size_t i = 0; i < list.size() && unit != 1; ++i) {
        if (i > 0 && list[i] == (list[i] < 0 ? list[i - 1] : list[i - 1] + 1)) {
          continue;
        }
        unit = std::gcd(unit, static_cast<int64_t>(i));
        if (list[i] >= 0) unit = std::gcd(unit, list[i]);
      }
    }
  }
  return std::max<int64_t>(unit, 1);
}

ElementLists InBlocks(const ElementLists& lists, int64_t unit) {
  ElementLists result(lists.size());
  for (size_t device = 0; device < lists.size(); ++device) {
    for (size_t i = 0; i < lists[device].size(); i += unit) {
      const int64_t index = lists[device][i];
      result[device].push_back(index < 0 ? index : index / unit);
    }
  }
  return result;
}

using Places = absl::flat_hash_map<int64_t, std::vector<int64_t>>;

Places PlacesOf(const std::vector<int64_t>& list) {
  Places places;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] >= 0) places[list[i]].push_back(static_cast<int64_t>(i));
  }
  return places;
}

// A run of elements that is whole on both sides.
struct Piece {
  int64_t source = 0;
  int64_t target = 0;
  int64_t start = 0;     // In the source's list.
  int64_t position = 0;  // In the target's needs.
  int64_t size = 0;
};

// What each device needs, its own elements first of all.
std::vector<Piece> PiecesOf(const ElementLists& held,
                            const ElementLists& needed,
                            const std::vector<std::vector<int64_t>>& groups) {
  std::vector<Piece> pieces;
  for (const std::vector<int64_t>& group : groups) {
    absl::flat_hash_map<int64_t, std::pair<int64_t, int64_t>> owners;
    for (const int64_t device : group) {
      for (size_t i = 0; i < held[device].size(); ++i) {
        if (held[device][i] < 0) continue;
        owners.try_emplace(held[device][i], device, static_cast<int64_t>(i));
      }
    }
    for (const int64_t device : group) {
      const Places own = PlacesOf(held[device]);
      const size_t first = pieces.size();
      for (size_t i = 0; i < needed[device].size(); ++i) {
        const int64_t index = needed[device][i];
        if (index < 0) continue;
        const int64_t position = static_cast<int64_t>(i);
        if (pieces.size() > first) {
          Piece& last = pieces.back();
          const int64_t next = last.start + last.size;
          if (last.position + last.size == position && next < Length(held) &&
              held[last.source][next] == index &&
              (last.source == device || !own.contains(index))) {
            ++last.size;
            continue;
          }
        }
        std::pair<int64_t, int64_t> from;
        if (const auto found = own.find(index); found != own.end()) {
          from = {device, found->second[0]};
        } else {
          MW_CHECK(owners.contains(index)) << "nobody holds " << index;
          from = owners.at(index);
        }
        pieces.push_back({from.first, device, from.second, position, 1});
      }
    }
  }
  return pieces;
}

// Colours the edges of the graph of senders and receivers so that no device
// sends or receives twice in a round; as many rounds as the busiest device has
// pieces (Koenig). Long pieces come first and so share rounds.
class Rounds {
 public:
  explicit Rounds(int64_t devices) : devices_(devices) {}

  std::vector<std::vector<const Piece*>> Colour(
      const std::vector<const Piece*>& pieces) {
    for (const Piece* piece : pieces) Insert(piece);
    std::vector<std::vector<const Piece*>> rounds(sends_.size());
    for (size_t round = 0; round < sends_.size(); ++round) {
      for (const Piece* piece : sends_[round]) {
        if (piece != nullptr) rounds[round].push_back(piece);
      }
    }
    return rounds;
  }

 private:
  using Row = std::vector<const Piece*>;  // By device.

  size_t FirstFree(const std::vector<Row>& rows, int64_t device) const {
    size_t round = 0;
    while (round < rows.size() && rows[round][device] != nullptr) ++round;
    return round;
  }
  void Set(size_t round, const Piece* piece) {
    sends_[round][piece->source] = receives_[round][piece->target] = piece;
  }

  void Insert(const Piece* piece) {
    for (size_t round = 0; round < sends_.size(); ++round) {
      if (sends_[round][piece->source] == nullptr &&
          receives_[round][piece->target] == nullptr) {
        return Set(round, piece);
      }
    }
    const size_t a = FirstFree(sends_, piece->source);
    const size_t b = FirstFree(receives_, piece->target);
    if (a == sends_.size() || b == sends_.size()) {
      sends_.emplace_back(devices_, nullptr);
      receives_.emplace_back(devices_, nullptr);
      return Set(sends_.size() - 1, piece);
    }
    Swap(piece->target, a, b);
    Set(a, piece);
  }

  // Swaps rounds a and b along the path that starts at a receiver whose round
  // b is free; its round a is free then. The path never ends at a sender whose
  // round a is free.
  void Swap(int64_t receiver, size_t a, size_t b) {
    std::vector<const Piece*> path;
    for (const Piece* piece = receives_[a][receiver]; piece != nullptr;) {
      path.push_back(piece);
      piece = path.size() % 2 == 1 ? sends_[b][piece->source]
                                   : receives_[a][piece->target];
    }
    for (size_t i = 0; i < path.size(); ++i) {
      const size_t old = i % 2 == 0 ? a : b;
      sends_[old][path[i]->source] = receives_[old][path[i]->target] = nullptr;
    }
    for (size_t i = 0; i < path.size(); ++i) Set(i % 2 == 0 ? b : a, path[i]);
  }

  int64_t devices_;
  std::vector<Row> sends_;  // By round, then device.
  std::vector<Row> receives_;
};

std::vector<ExchangeRound> RoundsOf(const std::vector<Piece>& pieces,
                                    int64_t devices, int64_t local,
                                    std::vector<double>& positions) {
  std::vector<const Piece*> moved;
  for (const Piece& piece : pieces) {
    if (piece.source != piece.target) moved.push_back(&piece);
  }
  std::stable_sort(moved.begin(), moved.end(),
                   [](const Piece* a, const Piece* b) {
                     return a->size != b->size ? a->size > b->size
                                               : a->position < b->position;
                   });
  std::vector<ExchangeRound> rounds;
  for (const auto& members : Rounds(devices).Colour(moved)) {
    ExchangeRound round;
    round.receives.assign(devices, false);
    double position = 0;
    for (const Piece* piece : members) {
      round.size = std::max(round.size, piece->size);
      round.pairs.push_back({piece->source, piece->target});
      round.receives[piece->target] = true;
      position += static_cast<double>(piece->position);
    }
    positions.push_back(position / static_cast<double>(members.size()));
    // Short pieces at the end of a shard take what lies before them along.
    round.start.assign(devices,
                       std::min(members[0]->start, local - round.size));
    for (const Piece* piece : members) {
      round.start[piece->source] = std::min(piece->start, local - round.size);
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

// Finds the needs of every device in what it has joined.
class Assembly {
 public:
  Assembly(ExchangePlan* plan, const ElementLists& needed, ElementLists joined,
           std::vector<int32_t> origins)
      : plan_(plan),
        needed_(needed),
        joined_(std::move(joined)),
        origins_(std::move(origins)) {
    for (const std::vector<int64_t>& list : joined_) {
      places_.push_back(PlacesOf(list));
    }
  }

  void Run() {
    const int64_t end = Length(needed_) - plan_->fill_high;
    for (int64_t position = plan_->fill_low; position < end;) {
      plan_->segments.push_back(Longest(position, end));
      position += plan_->segments.back().size;
    }
    for (const ExchangeSegment& segment : plan_->segments) {
      for (const int64_t start : segment.start) {
        plan_->pad_low = std::max(plan_->pad_low, -start);
        plan_->pad_high =
            std::max(plan_->pad_high, start + segment.size - Length(joined_));
      }
    }
    for (ExchangeSegment& segment : plan_->segments) {
      for (int64_t& start : segment.start) start += plan_->pad_low;
    }
  }

 private:
  // How many needs from `position` on are met by what is joined from `start`.
  // Beyond the ends lies the fill value.
  int64_t Match(size_t device, int64_t position, int64_t start,
                int64_t end) const {
    const std::vector<int64_t>& joined = joined_[device];
    int64_t size = 0;
    for (; position + size < end; ++size) {
      const int64_t want = needed_[device][position + size];
      const int64_t at = start + size;
      const int64_t have =
          at < 0 || at >= Length(joined_) ? kFilled : joined[at];
      if (want != kAnything && want != have) break;
    }
    return size;
  }

  int64_t BestStart(size_t device, int64_t position, int64_t end) const {
    int64_t first = position;  // Of the elements that are looked for.
    while (first < end && needed_[device][first] < 0) ++first;
    std::vector<int64_t> starts = {position - first, Length(joined_)};
    if (first < end) {
      const auto found = places_[device].find(needed_[device][first]);
      MW_CHECK(found != places_[device].end());
      for (const int64_t place : found->second) {
        starts.push_back(place - (first - position));
      }
    }
    return *std::max_element(starts.begin(), starts.end(),
                             [&](int64_t a, int64_t b) {
                               return Match(device, position, a, end) <
                                      Match(device, position, b, end);
                             });
  }

  bool AllAnything(size_t device, int64_t position, int64_t end) const {
    const auto& list = needed_[device];
    return std::all_of(list.begin() + position, list.begin() + end,
                       [](int64_t index) { return index == kAnything; });
  }

  ExchangeSegment Longest(int64_t position, int64_t end) {
    ExchangeSegment segment;
    segment.size = end - position;
    segment.start.assign(needed_.size(), 0);
    std::vector<bool> settled(needed_.size(), false);
    for (size_t device = 0; device < needed_.size(); ++device) {
      if (AllAnything(device, position, end)) continue;
      settled[device] = true;
      segment.start[device] = BestStart(device, position, end);
      segment.size = std::min(
          segment.size, Match(device, position, segment.start[device], end));
    }
    MW_CHECK(segment.size > 0);
    ShareStart(position, settled, segment);
    for (size_t device = 0; device < needed_.size(); ++device) {
      MarkFills(device, position, segment);
    }
    return segment;
  }

  // Takes the first device's start wherever it is as good.
  void ShareStart(int64_t position, const std::vector<bool>& settled,
                  ExchangeSegment& segment) const {
    const auto first = std::find(settled.begin(), settled.end(), true);
    if (first == settled.end()) return;
    const int64_t start = segment.start[first - settled.begin()];
    const int64_t end = position + segment.size;
    for (size_t device = 0; device < needed_.size(); ++device) {
      if (Match(device, position, start, end) == segment.size) {
        segment.start[device] = start;
      }
    }
  }

  void MarkFills(size_t device, int64_t position,
                 const ExchangeSegment& segment) {
    for (int64_t i = 0; i < segment.size; ++i) {
      const int64_t at = segment.start[device] + i;
      if (needed_[device][position + i] != kFilled || at < 0 ||
          at >= Length(joined_)) {
        continue;
      }
      plan_->rounds[origins_[at]].non_receivers_fill = true;
    }
  }

  ExchangePlan* plan_;
  const ElementLists& needed_;
  ElementLists joined_;
  std::vector<int32_t> origins_;  // By joined element: kOwn or round.
  std::vector<Places> places_;
};

// Ends of the result that are fill, or of no matter, on every device.
void StripFills(const ElementLists& needed, ExchangePlan& plan) {
  const int64_t size = Length(needed);
  const auto is_fill = [&](int64_t position) {
    return std::all_of(needed.begin(), needed.end(),
                       [&](const auto& list) { return list[position] < 0; });
  };
  while (plan.fill_low < size && is_fill(plan.fill_low)) ++plan.fill_low;
  while (plan.fill_low + plan.fill_high < size &&
         is_fill(size - 1 - plan.fill_high)) {
    ++plan.fill_high;
  }
}

// The smallest stretch of the own lists that holds all that is used of them.
void TrimOwn(const ElementLists& own, const ElementLists& needed,
             ExchangePlan& plan) {
  int64_t low = std::numeric_limits<int64_t>::max();
  int64_t high = 0;
  for (size_t device = 0; device < own.size(); ++device) {
    const Places places = PlacesOf(own[device]);
    for (const int64_t index : needed[device]) {
      const auto found = places.find(index);
      if (found == places.end()) continue;
      low = std::min(low, found->second.front());
      high = std::max(high, found->second.front() + 1);
    }
  }
  plan.own_start = high == 0 ? 0 : low;
  plan.own_size = high == 0 ? 0 : high - low;
}

double OwnPosition(const std::vector<Piece>& pieces) {
  double sum = 0;
  double count = 0;
  for (const Piece& piece : pieces) {
    if (piece.source != piece.target) continue;
    sum += static_cast<double>(piece.position);
    count += 1;
  }
  return count == 0 ? 0 : sum / count;
}

// Every device's list becomes its whole group's.
ElementLists Gathered(const ElementLists& held,
                      const std::vector<std::vector<int64_t>>& groups) {
  ElementLists gathered(held.size());
  for (const std::vector<int64_t>& group : groups) {
    std::vector<int64_t> all;
    for (const int64_t device : group) {
      all.insert(all.end(), held[device].begin(), held[device].end());
    }
    for (const int64_t device : group) gathered[device] = all;
  }
  return gathered;
}

// The parts in the order in which the result mostly uses them.
std::vector<int32_t> OrderOf(const ExchangePlan& plan, double own_position,
                             const std::vector<double>& positions) {
  std::vector<std::pair<double, int32_t>> order;
  for (size_t i = 0; i < plan.rounds.size(); ++i) {
    order.push_back({positions[i], static_cast<int32_t>(i)});
  }
  if (plan.own_size > 0) order.push_back({own_position, ExchangePlan::kOwn});
  std::sort(order.begin(), order.end());
  std::vector<int32_t> parts;
  for (const auto& [position, part] : order) parts.push_back(part);
  return parts;
}

// What each device has of `part`; kFilled where it receives nothing.
ElementLists PartLists(const ExchangePlan& plan, int32_t part,
                       const ElementLists& held) {
  const auto cut = [](const std::vector<int64_t>& list, int64_t start,
                      int64_t size) {
    return std::vector<int64_t>(list.begin() + start,
                                list.begin() + start + size);
  };
  ElementLists lists(held.size());
  if (part == ExchangePlan::kOwn) {
    for (size_t device = 0; device < held.size(); ++device) {
      lists[device] = cut(held[device], plan.own_start, plan.own_size);
    }
    return lists;
  }
  const ExchangeRound& round = plan.rounds[part];
  for (auto& list : lists) list.assign(round.size, kFilled);
  for (const auto& [from, to] : round.pairs) {
    lists[to] = cut(held[from], round.start[from], round.size);
  }
  return lists;
}

}  // namespace

ExchangePlan PlanExchange(const ElementLists& held_elements,
                          const ElementLists& needed_elements,
                          const std::vector<std::vector<int64_t>>& groups) {
  ExchangePlan plan;
  plan.unit = CommonUnit(held_elements, needed_elements);
  ElementLists held = InBlocks(held_elements, plan.unit);
  const ElementLists needed = InBlocks(needed_elements, plan.unit);
  const int64_t devices = static_cast<int64_t>(held.size());
  const std::vector<Piece> pieces = PiecesOf(held, needed, groups);
  std::vector<double> positions;
  plan.rounds = RoundsOf(pieces, devices, Length(held), positions);
  int64_t sent = 0;
  for (const ExchangeRound& round : plan.rounds) sent += round.size;
  const int64_t others = static_cast<int64_t>(groups[0].size()) - 1;
  if (sent > 0 && sent >= others * Length(held)) {
    plan.gathers = true;
    plan.rounds.clear();
    held = Gathered(held, groups);
  }
  StripFills(needed, plan);
  TrimOwn(held, needed, plan);
  plan.order = OrderOf(plan, OwnPosition(pieces), positions);
  ElementLists joined(devices);
  std::vector<int32_t> origins;
  for (const int32_t part : plan.order) {
    const ElementLists lists = PartLists(plan, part, held);
    origins.insert(origins.end(), lists[0].size(), part);
    for (int64_t device = 0; device < devices; ++device) {
      joined[device].insert(joined[device].end(), lists[device].begin(),
                            lists[device].end());
    }
  }
  Assembly(&plan, needed, std::move(joined), std::move(origins)).Run();
  return plan;
}

}  // namespace meshwright
