#include "meshwright/remat/forward_segments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "meshwright/analysis/direction.h"
#include "meshwright/analysis/flops.h"
#include "meshwright/analysis/repeats.h"
#include "meshwright/analysis/segments.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/remat/remat_policy.h"
#include "meshwright/remat/rematerializable.h"

namespace meshwright {
namespace {

class Segmenter {
 public:
  Segmenter(const Computation& entry, const ModuleRoles& roles)
      : entry_(entry), roles_(roles), users_(Users(entry)) {}

  ForwardSegments Run() && {
    ForwardSegments segments;
    segments.segment_of.assign(entry_.size(), kNotForward);
    if (!MarkForward()) return segments;
    MarkOfWeights();
    Order();
    Measure();
    ChooseEnds();
    size_t next = 0;
    int32_t segment = 0;
    for (int32_t at = 0; at < std::ssize(order_); ++at) {
      for (; next < ends_.size() && ends_[next] < at; ++next) ++segment;
      segments.segment_of[order_[at]] = segment;
    }
    segments.count = segment + 1;
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (forward_[id] && of_weights_[id]) segments.segment_of[id] = kOfWeights;
      // An element of a tuple belongs to the producer of the tuple.
      const Instruction& instruction = *entry_.instruction(id);
      if (instruction.opcode == Opcode::kGetTupleElement && forward_[id]) {
        segments.segment_of[id] =
            segments.segment_of[instruction.operands[0]->id];
      }
    }
    return segments;
  }

 private:
  bool MarkForward() {
    const Instruction& root = *entry_.root();
    if (!roles_.loss.has_value() || root.opcode != Opcode::kTuple ||
        Leaves(root.shape).size() != root.operands.size()) {
      return false;
    }
    forward_ = NeededBy(entry_, {*roles_.loss});
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (forward_[id] && IsContraction(entry_.instruction(id)->opcode)) {
        contractions_.push_back(id);
      }
    }
    if (contractions_.empty()) return false;
    std::fill(forward_.begin(), forward_.begin() + contractions_.back(), true);
    return true;
  }

  void MarkOfWeights() {
    std::vector<double> largest(entry_.size(), 0);
    of_weights_.assign(entry_.size(), false);
    for (const auto& instruction : entry_.instructions()) {
      const int32_t id = instruction->id;
      if (instruction->opcode == Opcode::kParameter) {
        const int64_t number = instruction->attributes->parameter_number;
        of_weights_[id] =
            roles_.parameters[number].role != ParameterRole::kData;
        largest[id] = ElementsOf(instruction->shape);
        continue;
      }
      bool all = true;
      for (const Instruction* operand : instruction->operands) {
        all = all && of_weights_[operand->id];
        largest[id] = std::max(largest[id], largest[operand->id]);
      }
      of_weights_[id] = all && (largest[id] == 0 ||
                                ElementsOf(instruction->shape) <= largest[id]);
    }
  }

  void Order() {
    index_.assign(entry_.size(), -1);
    for (int32_t id = 0; id < entry_.size(); ++id) {
      if (!forward_[id] || of_weights_[id]) continue;
      index_[id] = static_cast<int32_t>(order_.size());
      order_.push_back(id);
    }
    std::erase_if(contractions_, [&](int32_t id) { return index_[id] < 0; });
  }

  // Measures what crosses each position, and what of the part before it the
  // backward pass reads.
  void Measure() {
    const size_t size = order_.size();
    passing_.assign(size + 1, 0);
    read_.assign(size + 1, 0);
    for (const int32_t id : order_) {
      const Instruction& value = *entry_.instruction(id);
      if (!value.shape.IsArray() || !IsRematerializable(value)) continue;
      const bool is_element = value.opcode == Opcode::kGetTupleElement;
      const Instruction& maker = is_element ? *value.operands[0] : value;
      // Inputs and what cannot be rematerialised are kept wherever the ends
      // are.
      if (!IsRematerializable(maker)) continue;
      const double bytes = static_cast<double>(ByteSize(value.shape));
      const int32_t made = index_[maker.id];
      int32_t last = made;
      bool is_read = false;
      for (const Instruction* user : users_[id]) {
        if (forward_[user->id]) {
          last = std::max(last, index_[user->id]);
        } else {
          is_read = true;
        }
      }
      passing_[made] += bytes;
      passing_[last] -= bytes;
      if (is_read) read_[made + 1] += bytes;
    }
    for (size_t i = 1; i <= size; ++i) {
      passing_[i] += passing_[i - 1];
      read_[i] += read_[i - 1];
    }
  }

  int32_t gaps() const { return static_cast<int32_t>(contractions_.size()); }

  // The best position between contraction `gap` and the one before it; ends
  // come after what is in that position. -1 if there is none.
  int32_t PlaceIn(int32_t gap) const {
    const int32_t begin = gap == 0 ? 0 : index_[contractions_[gap - 1]];
    int32_t best = -1;
    for (int32_t at = begin; at < index_[contractions_[gap]]; ++at) {
      if (best < 0 || passing_[at] <= passing_[best]) best = at;
    }
    return best;
  }

  void ChooseEnds() {
    places_.resize(gaps());
    for (int32_t gap = 0; gap < gaps(); ++gap) places_[gap] = PlaceIn(gap);
    std::vector<bool> is_end(gaps(), false);
    EndRepeats(is_end);
    double largest = 0;  // Among the copies of a repeated layer.
    int32_t before = -1;
    for (int32_t gap = 0; gap < gaps(); ++gap) {
      if (!is_end[gap]) continue;
      if (before >= 0) {
        largest = std::max(largest, ReadBetween(places_[before], gap));
      }
      before = gap;
    }
    DivideTheRest(largest, is_end);
    for (int32_t gap = 0; gap < gaps(); ++gap) {
      if (is_end[gap]) ends_.push_back(places_[gap]);
    }
  }

  // An end for each copy, between the two contractions where the fewest bytes
  // cross.
  void EndRepeats(std::vector<bool>& is_end) const {
    std::vector<uint64_t> fingerprints;
    for (const int32_t id : contractions_) {
      fingerprints.push_back(ContractionFingerprint(*entry_.instruction(id)));
    }
    for (const Repeat& repeat : FindRepeats(fingerprints)) {
      int64_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (int64_t offset = 0; offset < repeat.period; ++offset) {
        double bytes = 0;
        for (int64_t copy = 1; copy < repeat.count; ++copy) {
          const int32_t place =
              places_[repeat.begin + offset + copy * repeat.period];
          if (place >= 0) bytes += passing_[place];
        }
        if (bytes < least) {
          least = bytes;
          best = offset;
        }
      }
      for (int64_t gap = repeat.begin + best;
           gap < gaps() && gap <= repeat.end(); gap += repeat.period) {
        is_end[gap] = places_[gap] >= 0;
      }
    }
  }

  // What the backward pass reads between position `from` and the position in
  // `gap`; everything after it for the gap behind the last contraction.
  double ReadBetween(int32_t from, int32_t gap) const {
    const size_t to =
        gap < gaps() ? static_cast<size_t>(places_[gap]) + 1 : order_.size();
    return read_[to] - read_[static_cast<size_t>(from + 1)];
  }

  // Divides stretches without ends, so that no segment is larger than `limit`;
  // 0: the best limit.
  void DivideTheRest(double limit, std::vector<bool>& is_end) const {
    // The gap at which a stretch starts; -1: the first one.
    int32_t begin = -1;
    for (int32_t end = 0; end <= gaps(); ++end) {
      if (end < gaps() && !is_end[end]) continue;
      std::vector<int32_t> best;
      double least = std::numeric_limits<double>::infinity();
      const double whole = ReadBetween(begin < 0 ? -1 : places_[begin], end);
      const auto attempt = [&](double most) {
        double cost = 0;
        std::vector<int32_t> ends = EndsInStretch(begin, end, most, cost);
        if (cost < least) {
          least = cost;
          best = std::move(ends);
        }
      };
      if (limit > 0) {
        if (whole > limit) attempt(limit);
      } else {
        for (const int parts : kRematPolicy.parts) attempt(whole / parts);
      }
      for (const int32_t gap : best) is_end[gap] = true;
      begin = end;
    }
  }

  // The ends in the gaps between `begin` and `end` across which the fewest
  // bytes pass, such that the backward pass reads at most `limit` of a segment
  // (unless one contraction alone has more). `cost`: those bytes, and the most
  // read of a segment.
  std::vector<int32_t> EndsInStretch(int32_t begin, int32_t end, double limit,
                                     double& cost) const {
    std::vector<int32_t> gaps_of = {begin};
    for (int32_t gap = begin + 1; gap < end; ++gap) {
      if (places_[gap] >= 0) gaps_of.push_back(gap);
    }
    gaps_of.push_back(end);
    const int32_t count = static_cast<int32_t>(gaps_of.size());
    cost = std::numeric_limits<double>::infinity();
    if (count > kRematPolicy.most_gaps) return {};
    const auto place = [&](int32_t i) {
      return gaps_of[i] < 0 ? -1 : places_[gaps_of[i]];
    };
    std::vector<double> best(count, std::numeric_limits<double>::infinity());
    std::vector<int32_t> from(count, 0);
    best[0] = 0;
    for (int32_t i = 1; i < count; ++i) {
      for (int32_t j = i; j-- > 0;) {
        if (j + 1 < i && ReadBetween(place(j), gaps_of[i]) > limit) break;
        const double bytes = best[j] + (j > 0 ? passing_[place(j)] : 0);
        if (bytes < best[i]) {
          best[i] = bytes;
          from[i] = j;
        }
      }
    }
    std::vector<int32_t> ends;
    double most = 0;
    for (int32_t i = count - 1; i > 0; i = from[i]) {
      most = std::max(most, ReadBetween(place(from[i]), gaps_of[i]));
      if (from[i] > 0) ends.push_back(gaps_of[from[i]]);
    }
    cost = best[count - 1] + most;
    return ends;
  }

  const Computation& entry_;
  const ModuleRoles& roles_;
  const std::vector<std::vector<Instruction*>> users_;
  std::vector<bool> forward_;  // By id, as the following.
  std::vector<bool> of_weights_;
  std::vector<int32_t> index_;         // In `order_`, or -1.
  std::vector<int32_t> order_;         // Forward but for what weights make.
  std::vector<int32_t> contractions_;  // Of the loss, ids.
  std::vector<double> passing_;        // By place: bytes that pass it.
  std::vector<double> read_;           // By place: bytes before it.
  std::vector<int32_t> places_;        // By gap, before a contraction.
  std::vector<int32_t> ends_;          // Places, ascending.
};

}  // namespace

ForwardSegments SegmentForward(const Module& module, const ModuleRoles& roles) {
  return Segmenter(*module.entry(), roles).Run();
}

}  // namespace meshwright
