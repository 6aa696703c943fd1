#include "meshwright/reshard/reshard.h"

#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/check.h"
#include "meshwright/reshard/reshard_problem.h"

namespace meshwright {
namespace {

bool HasElements(const Sharding& sharding) {
  for (const DimSharding& dim : sharding.dims) {
    if (GlobalSize(dim) == 0) return false;
  }
  return true;
}

// Pending values of different reductions cannot be mixed: passes through `to`
// without its own pending axes then.
std::optional<Sharding> Between(const Sharding& from, const Sharding& to) {
  if (!from.IsPending() || !to.IsPending() || from.reduction == to.reduction) {
    return std::nullopt;
  }
  Sharding between = to;
  between.pending.clear();
  between.reduction = Reduction::kSum;
  return between;
}

// If an all-reduce of partial values is forbidden: reduce-scatter first.
std::optional<Sharding> Scattered(const Sharding& from, const Sharding& to,
                                  const Mesh& mesh, const Prices& prices) {
  AxisList whole;  // Axes that end up splitting nothing.
  uint32_t split = to.pending.Bits();
  for (const DimSharding& dim : to.dims) split |= AxesOf(dim).Bits();
  for (const AxisId axis : from.pending) {
    if ((split >> axis & 1) == 0) whole.push_back(axis);
  }
  if (whole.empty() || prices.Of(MoveKind::kAllReduce, whole.Bits()).latency <
                           kForbiddenSeconds) {
    return std::nullopt;
  }
  for (size_t i = 0; i < from.dims.size(); ++i) {
    if (from.dims[i].size() != 1 || !IsEven(from.dims[i], mesh) ||
        LocalSize(from.dims[i], mesh) % mesh.Size(whole) != 0) {
      continue;
    }
    Sharding between = from;
    between.dims[i][0].axes.Append(whole);
    between.pending.clear();
    for (const AxisId axis : from.pending) {
      if ((whole.Bits() >> axis & 1) == 0) between.pending.push_back(axis);
    }
    if (between.pending.empty()) between.reduction = Reduction::kSum;
    return between;
  }
  return std::nullopt;
}

// Turns moves of blocks into steps, one by one.
class StepWriter {
 public:
  StepWriter(const ReshardProblem& problem, std::vector<ReshardStep>* path)
      : problem_(problem), path_(path), before_(problem.search().from) {}

  void Start(const Sharding& from) {
    current_ = from;
    Regroup(problem_.DigitSharding(before_));
  }

  void Finish(const Sharding& to) { Regroup(to); }

  void Write(const SearchMove& move) {
    if (move.kind == MoveKind::kResize || move.kind == MoveKind::kRegroup) {
      Switch(move);
    } else {
      Transfer(move);
    }
    before_ = move.after;
  }

 private:
  void Regroup(Sharding after) {
    if (after == current_) return;
    current_ = after;
    path_->push_back({.kind = MoveKind::kRegroup, .after = std::move(after)});
  }

  // A view to another: one dimension, without and with the new padding.
  void Switch(const SearchMove& move) {
    const int digit = problem_.ViewDimension(move.from, before_);
    const Sharding after = problem_.DigitSharding(move.after);
    if (move.kind == MoveKind::kResize) {
      const auto merged = [&](const Sharding& digits, size_t others) {
        const size_t count = digits.dims.size() - others;
        Sharding result = digits;
        const auto begin = result.dims.begin() + digit;
        int64_t size = 1;
        for (size_t i = 0; i < count; ++i) size *= GlobalSize(begin[i]);
        result.dims.erase(begin + 1, begin + count);
        result.dims[digit] = {Part{size, {}}};
        return result;
      };
      const size_t others =
          current_.dims.size() - problem_.ViewDigits(move.from, before_);
      Regroup(merged(current_, others));
      ReshardStep step{.kind = MoveKind::kResize,
                       .from = digit,
                       .to = digit,
                       .size = problem_.ViewSize(move.from),
                       .after = merged(after, others),
                       .price = move.price};
      current_ = step.after;
      path_->push_back(std::move(step));
    }
    Regroup(after);
  }

  void Transfer(const SearchMove& move) {
    ReshardStep step{.kind = move.kind,
                     .after = problem_.DigitSharding(move.after),
                     .wire_bytes = move.wire_bytes,
                     .price = move.price};
    for (const int8_t block : move.blocks) {
      step.axes.Append(problem_.block(block));
    }
    if (move.from >= 0) step.from = problem_.DimensionOf(move.from, before_);
    if (move.to >= 0) step.to = problem_.DimensionOf(move.to, before_);
    current_ = step.after;
    if (step.kind == MoveKind::kSlice && !path_->empty() &&
        path_->back().kind == MoveKind::kSlice && path_->back().to == step.to) {
      ReshardStep& last = path_->back();
      last.axes.Append(step.axes);
      last.after = std::move(step.after);
      last.price += step.price;
      return;
    }
    path_->push_back(std::move(step));
  }

  const ReshardProblem& problem_;
  std::vector<ReshardStep>* path_;
  BlockPlaces before_;
  Sharding current_;
};

}  // namespace

Resharder::Resharder(const Mesh* mesh, const Prices& prices,
                     std::shared_ptr<ReshardPathCache> known)
    : mesh_(mesh),
      prices_(prices),
      search_(prices),
      known_(known != nullptr ? std::move(known)
                              : std::make_shared<ReshardPathCache>()) {}

Sharding Resharder::SizelessForm(const Sharding& sharding) const {
  Sharding form = sharding;
  for (DimSharding& dim : form.dims) {
    if (!IsStrided(dim) && IsEven(dim, *mesh_)) {
      dim[0].size = std::gcd(dim[0].size, mesh_->device_count());
    }
  }
  return form;
}

int32_t Resharder::Number(const Sharding& sharding) {
  const auto [entry, inserted] =
      numbers_.try_emplace(sharding, static_cast<int32_t>(numbered_.size()));
  if (inserted) {
    Numbered known{.sharding = &entry->first, .elements = 1};
    known.form = forms_
                     .try_emplace(SizelessForm(sharding),
                                  static_cast<int32_t>(forms_.size()))
                     .first->second;
    for (const DimSharding& dim : sharding.dims) {
      known.elements *= static_cast<double>(LocalSize(dim, *mesh_));
    }
    numbered_.push_back(known);
  }
  return entry->second;
}

double Resharder::Price(ElementType type, const Sharding& from,
                        const Sharding& to) {
  return Price(type, Number(from), Number(to));
}

double Resharder::Price(ElementType type, int32_t from, int32_t to) {
  const Numbered& start = numbered_[from];
  if (from == to || start.elements == 0) return 0;
  const Numbered& end = numbered_[to];
  const auto [entry, inserted] =
      ways_.try_emplace({start.form, end.form}, nullptr);
  // WaysBetween adds to no map of pairs, so the entry stays where it is.
  if (inserted) entry->second = WaysBetween(*start.sharding, *end.sharding);
  if (entry->second == nullptr) {
    const int32_t between = Number(*Through(*start.sharding, *end.sharding));
    return Price(type, from, between) + Price(type, between, to);
  }
  const double bytes = start.elements * static_cast<double>(BitWidth(type)) / 8;
  return CheapestPath(*entry->second, bytes).Price(bytes);
}

std::optional<Sharding> Resharder::Through(const Sharding& from,
                                           const Sharding& to) const {
  if (std::optional<Sharding> between = Between(from, to)) return between;
  return from.IsPending() ? Scattered(from, to, *mesh_, prices_) : std::nullopt;
}

const std::vector<ReshardPath>* Resharder::WaysBetween(const Sharding& from,
                                                       const Sharding& to) {
  if (Through(from, to).has_value()) return nullptr;
  return &Ways(
      ReshardProblem(*mesh_, /*bits_per_element=*/8, from, to).search());
}

const std::vector<ReshardPath>& Resharder::Ways(const SearchProblem& problem) {
  ReshardPathCache::Key key;
  problem.AppendKey(prices_, &key);
  return known_->Of(key, [&] { return FindReshardPaths(problem, search_); });
}

const std::vector<ReshardStep>& Resharder::Path(ElementType type,
                                                const Sharding& from,
                                                const Sharding& to) {
  const int64_t bits = BitWidth(type);
  auto& path = paths_[{Number(from), Number(to), bits}];
  if (path == nullptr) {
    path = std::make_unique<std::vector<ReshardStep>>();
    AppendPath(bits, from, to, path.get());
  }
  return *path;
}

void Resharder::AppendPath(int64_t bits, const Sharding& from,
                           const Sharding& to, std::vector<ReshardStep>* path) {
  if (from == to || !HasElements(from)) return;
  if (const auto between = Through(from, to)) {
    AppendPath(bits, from, *between, path);
    AppendPath(bits, *between, to, path);
    return;
  }
  const ReshardProblem problem(*mesh_, bits, from, to);
  const double bytes = problem.search().bytes;
  StepWriter writer(problem, path);
  writer.Start(from);
  for (SearchMove move : CheapestPath(Ways(problem.search()), bytes).moves) {
    move.wire_bytes *= bytes;
    move.price *= bytes;
    move.price += move.latency;
    writer.Write(move);
  }
  writer.Finish(to);
}

double Resharder::PlainPrice(ElementType type, const Sharding& from,
                             const Sharding& to) {
  if (from == to || !HasElements(from)) return 0;
  if (const auto between = Through(from, to)) {
    return PlainPrice(type, from, *between) + PlainPrice(type, *between, to);
  }
  const ReshardProblem problem(*mesh_, BitWidth(type), from, to);
  double price = 0;
  for (const SearchMove& move : PlainMoves(problem.search(), prices_)) {
    price += move.price;
  }
  return price;
}

std::string ToString(const std::vector<ReshardStep>& path, const Mesh& mesh) {
  std::vector<std::string> texts;
  for (const ReshardStep& step : path) {
    if (step.kind == MoveKind::kRegroup) continue;
    std::string text(Name(step.kind));
    if (!step.axes.empty()) {
      absl::StrAppend(&text, " ", AxesToString(step.axes, mesh));
    }
    if (step.from >= 0) absl::StrAppend(&text, " from ", step.from);
    if (step.to >= 0) absl::StrAppend(&text, " to ", step.to);
    texts.push_back(std::move(text));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace meshwright
