#include "meshwright/loops/counted_loop.h"

#include <algorithm>
#include <utility>

#include "meshwright/analysis/known_scalars.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/trip_count.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;

// Loops over layers have hundreds of iterations; simulating millions would take
// long.
constexpr int64_t kMaxCount = 1 << 16;

class LoopAnalysis {
 public:
  LoopAnalysis(const Instruction& loop, int64_t count)
      : loop_(loop),
        body_(*loop.called[0]),
        parameter_(*body_.Parameters()[0]),
        root_(*body_.root()),
        users_(Users(body_)) {
    result_.count = count;
  }

  std::optional<CountedLoop> Run() {
    if (!HasPlainTuples()) return std::nullopt;
    const size_t size = root_.operands.size();
    result_.elements.resize(size);
    reads_.resize(size);
    for (const Instruction* user : users_[parameter_.id]) {
      reads_[user->attributes->tuple_index].push_back(user);
    }
    FindKnown();
    for (size_t e = 0; e < size; ++e) {
      LoopElement& element = result_.elements[e];
      if (element.kind == Kind::kKnown) continue;
      if (std::optional<LoopElement> stacked = Stacked(e)) {
        element = *std::move(stacked);
      } else if (IsHandedOn(e)) {
        element.kind = Kind::kInvariant;
      }
    }
    return std::move(result_);
  }

 private:
  bool HasPlainTuples() const {
    return parameter_.shape.IsTuple() && root_.opcode == Opcode::kTuple &&
           std::ranges::all_of(parameter_.shape.tuple_shapes,
                               &Shape::IsArray) &&
           &root_ != &parameter_ && users_[root_.id].empty() &&
           std::ranges::all_of(
               users_[parameter_.id], [](const Instruction* user) {
                 return user->opcode == Opcode::kGetTupleElement;
               });
  }

  bool IsElement(const Instruction& value, size_t e) const {
    return value.opcode == Opcode::kGetTupleElement &&
           value.operands[0] == &parameter_ &&
           value.attributes->tuple_index == static_cast<int64_t>(e);
  }
  bool IsHandedOn(size_t e) const { return IsElement(*root_.operands[e], e); }

  // Starts from all constant initial values, simulates the iterations, and
  // repeats without those that turned out to depend on more.
  void FindKnown() {
    std::vector<bool> candidate(root_.operands.size());
    const Instruction& start = *loop_.operands[0];
    if (start.opcode != Opcode::kTuple) return;
    for (size_t e = 0; e < candidate.size(); ++e) {
      candidate[e] = ScalarConstant(*start.operands[e]).has_value();
    }
    while (!Walk(candidate)) {
    }
    for (size_t e = 0; e < candidate.size(); ++e) {
      if (!candidate[e]) continue;
      LoopElement& element = result_.elements[e];
      element.kind = Kind::kKnown;
      for (const auto& carried : history_)
        element.values.push_back(*carried[e]);
    }
  }

  // False, with fewer candidates, if some are not known in all iterations.
  bool Walk(std::vector<bool>& candidate) {
    const Instruction& start = *loop_.operands[0];
    history_.assign(1, {});
    for (size_t e = 0; e < candidate.size(); ++e) {
      history_[0].push_back(candidate[e] ? ScalarConstant(*start.operands[e])
                                         : std::nullopt);
    }
    for (int64_t t = 0; t < result_.count; ++t) {
      KnownScalars scalars(parameter_, history_[t]);
      std::vector<std::optional<int64_t>> next(candidate.size());
      bool complete = true;
      for (size_t e = 0; e < candidate.size(); ++e) {
        if (!candidate[e]) continue;
        next[e] = scalars.Of(*root_.operands[e]);
        if (next[e].has_value()) continue;
        candidate[e] = false;
        complete = false;
      }
      if (!complete) return false;
      history_.push_back(std::move(next));
    }
    return true;
  }

  // The position of a slice of `sizes` at `indices`, if it advances along one
  // dimension step by step.
  std::optional<LoopElement> Walks(const Shape& shape,
                                   const std::vector<int64_t>& sizes,
                                   const std::vector<Instruction*>& indices) {
    LoopElement element{.kind = Kind::kStacked, .dimension = -1};
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (sizes[d] == shape.dimensions[d]) continue;
      if (element.dimension >= 0) return std::nullopt;
      element.dimension = d;
    }
    if (element.dimension < 0) return std::nullopt;
    element.width = sizes[element.dimension];
    const std::vector<int64_t>* positions =
        PositionsOf(*indices[element.dimension]);
    if (positions == nullptr) return std::nullopt;
    element.first = (*positions)[0];
    element.step = (*positions)[1] - (*positions)[0];
    if (std::abs(element.step) != element.width || element.width == 0) {
      return std::nullopt;
    }
    const int64_t last = shape.dimensions[element.dimension] - element.width;
    for (int64_t t = 0; t < result_.count; ++t) {
      const int64_t position = (*positions)[t];
      if (position != element.first + t * element.step || position < 0 ||
          position > last) {
        return std::nullopt;
      }
    }
    return element;
  }

  // The values of an index in all iterations; null if unknown.
  const std::vector<int64_t>* PositionsOf(const Instruction& index) {
    const auto [known, is_new] = positions_.try_emplace(index.id);
    std::vector<int64_t>& positions = known->second;
    if (is_new) {
      for (int64_t t = 0; t < result_.count && !history_.empty(); ++t) {
        const std::optional<int64_t> value =
            KnownScalars(parameter_, history_[t]).Of(index);
        if (!value.has_value()) break;
        positions.push_back(*value);
      }
    }
    return std::ssize(positions) == result_.count ? &positions : nullptr;
  }

  std::optional<LoopElement> WalkOfRead(const Instruction& slice) {
    return Walks(slice.operand_shape(0), slice.attributes->dynamic_slice_sizes,
                 {slice.operands.begin() + 1, slice.operands.end()});
  }

  std::optional<LoopElement> WalkOfWrite(const Instruction& update, size_t e) {
    if (update.opcode != Opcode::kDynamicUpdateSlice ||
        !IsElement(*update.operands[0], e) ||
        IsElement(*update.operands[1], e) || users_[update.id].size() != 1 ||
        RootUses(update) != 1) {
      return std::nullopt;
    }
    std::optional<LoopElement> walk =
        Walks(update.shape, update.operand_shape(1).dimensions,
              {update.operands.begin() + 2, update.operands.end()});
    if (walk.has_value()) walk->is_written = true;
    return walk;
  }

  int64_t RootUses(const Instruction& value) const {
    return std::ranges::count(root_.operands, &value);
  }

  // Every use has the same slot: reads, and at most one write.
  std::optional<LoopElement> Stacked(size_t e) {
    const Instruction& next = *root_.operands[e];
    std::optional<LoopElement> walk;
    const bool is_written = !IsHandedOn(e);
    if (is_written) {
      walk = WalkOfWrite(next, e);
      if (!walk.has_value()) return std::nullopt;
    }
    for (const Instruction* read : reads_[e]) {
      for (const Instruction* user : users_[read->id]) {
        if (user == &root_ && RootUses(*read) == 1 && &next == read) continue;
        if (user == &next && is_written) continue;
        if (user->opcode != Opcode::kDynamicSlice ||
            user->operands[0] != read) {
          return std::nullopt;
        }
        const std::optional<LoopElement> other = WalkOfRead(*user);
        if (!other.has_value()) return std::nullopt;
        if (!walk.has_value()) walk = other;
        if (other->dimension != walk->dimension ||
            other->first != walk->first || other->step != walk->step) {
          return std::nullopt;
        }
      }
    }
    return walk;
  }

  const Instruction& loop_;
  const Computation& body_;
  const Instruction& parameter_;
  const Instruction& root_;
  const std::vector<std::vector<Instruction*>> users_;
  std::vector<std::vector<const Instruction*>> reads_;  // By element.
  // By iteration and element; one more than there are iterations.
  std::vector<std::vector<std::optional<int64_t>>> history_;
  absl::flat_hash_map<int32_t, std::vector<int64_t>> positions_;
  CountedLoop result_;
};

}  // namespace

LoopElement::Range LoopElement::SlotsOf(int64_t begin, int64_t end) const {
  const int64_t low = std::min(first + begin * step, first + (end - 1) * step);
  return {low, low + width * (end - begin)};
}

std::optional<CountedLoop> AnalyzeLoop(const Instruction& loop) {
  const std::optional<int64_t> count = TripCount(loop);
  if (!count.has_value() || *count < 2 || *count > kMaxCount ||
      !loop.shape.IsTuple()) {
    return std::nullopt;
  }
  return LoopAnalysis(loop, *count).Run();
}

}  // namespace meshwright
