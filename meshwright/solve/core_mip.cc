#include "meshwright/solve/core_mip.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meshwright/solve/mip.h"
#include "meshwright/solve/selection.h"

namespace meshwright {
namespace {

// The tolerances of HiGHS are absolute: costs and usages are scaled to this.
constexpr double kMipScale = 1000;

// Builds the MIP: first the variables of the options, node by node.
class Builder {
 public:
  Builder(const Core& core, int64_t upper)
      : core_(core),
        upper_(upper),
        unit_(std::max(1.0, static_cast<double>(upper) / kMipScale)) {
    AddNodes();
    for (int32_t v = 0; v < core.nodes; ++v) {
      for (const CoreLink& link : core.Links(v)) {
        if (link.other > v) AddLink(v, link);
      }
    }
    AddPoints();
  }

  const Mip& mip() const { return mip_; }
  double unit() const { return unit_; }

  std::vector<double> ValuesOf(absl::Span<const int32_t> choice) const {
    std::vector<double> values(mip_.variables.size());
    for (int32_t v = 0; v < core_.nodes; ++v) {
      values[core_.first_option[v] + choice[v]] = 1;
    }
    for (const Pair& pair : pairs_) {
      values[pair.variable] = values[pair.a] * values[pair.b];
    }
    return values;
  }

  std::vector<int32_t> ChoiceOf(const std::vector<double>& values) const {
    std::vector<int32_t> choice;
    for (int32_t v = 0; v < core_.nodes; ++v) {
      const auto begin = values.begin() + core_.first_option[v];
      choice.push_back(static_cast<int32_t>(
          std::max_element(begin, begin + core_.options(v)) - begin));
    }
    return choice;
  }

 private:
  struct Pair {
    int32_t a = 0;
    int32_t b = 0;
    int32_t variable = 0;
  };

  void AddNodes() {
    for (int32_t v = 0; v < core_.nodes; ++v) {
      MipRow one{.lower = 1, .upper = 1, .terms = {}};
      for (int32_t i = core_.first_option[v]; i < core_.first_option[v + 1];
           ++i) {
        // No cheaper solution has an option that costs as much as the known
        // one.
        const bool allowed = core_.costs[i] < upper_;
        mip_.AddVariable({.cost = static_cast<double>(core_.costs[i]) / unit_,
                          .upper = allowed ? 1.0 : 0.0});
        if (!allowed) mip_.variables.back().cost = 0;
        one.terms.push_back({i, 1});
      }
      mip_.AddRow(std::move(one));
    }
  }

  // The pairs in a row of the table sum to the row's option, likewise columns.
  void AddLink(int32_t v, const CoreLink& link) {
    const int32_t rows = core_.options(v);
    const int32_t columns = core_.options(link.other);
    const int32_t first_row = core_.first_option[v];
    const int32_t first_column = core_.first_option[link.other];
    std::vector<MipRow> sums(rows + columns, {.lower = 0, .upper = 0});
    for (int32_t a = 0; a < rows; ++a) {
      sums[a].terms.push_back({first_row + a, -1});
      for (int32_t b = 0; b < columns; ++b) {
        const int64_t cell = core_.Row(link, a)[b];
        if (cell >= upper_) continue;
        const int32_t variable = mip_.AddVariable(
            {.cost = static_cast<double>(cell) / unit_, .integer = false});
        pairs_.push_back({first_row + a, first_column + b, variable});
        sums[a].terms.push_back({variable, 1});
        sums[rows + b].terms.push_back({variable, 1});
      }
    }
    for (int32_t b = 0; b < columns; ++b) {
      sums[rows + b].terms.push_back({first_column + b, -1});
    }
    for (MipRow& sum : sums) mip_.AddRow(std::move(sum));
  }

  void AddPoints() {
    std::vector<MipRow> rows(core_.points());
    for (int32_t p = 0; p < core_.points(); ++p) rows[p].upper = kMipScale;
    for (int32_t v = 0; v < core_.nodes; ++v) {
      for (const CorePiece& piece : core_.Pieces(v)) {
        for (int32_t p = piece.first; p < piece.last; ++p) {
          const double capacity =
              std::max(1.0, static_cast<double>(core_.capacity[p]));
          for (int32_t a = 0; a < core_.options(v); ++a) {
            const int64_t usage = core_.usage[piece.usage + a];
            if (usage == 0) continue;
            rows[p].terms.push_back(
                {core_.first_option[v] + a,
                 kMipScale * static_cast<double>(usage) / capacity});
          }
        }
      }
    }
    for (int32_t p = 0; p < core_.points(); ++p) {
      if (core_.capacity[p] <= 0) rows[p].upper = 0;
      mip_.AddRow(std::move(rows[p]));
    }
  }

  const Core& core_;
  int64_t upper_;
  double unit_;
  Mip mip_;
  std::vector<Pair> pairs_;
};

}  // namespace

CoreMipAnswer SolveCoreMip(const Core& core, absl::Span<const int32_t> known,
                           int64_t upper, const CoreMipOptions& options) {
  const Builder builder(core, upper);
  MipOptions mip_options{.iteration_limit = options.iterations,
                         .stop = options.stop};
  if (!known.empty()) mip_options.initial = builder.ValuesOf(known);
  const auto found = SolveMip(builder.mip(), mip_options);
  CoreMipAnswer answer;
  if (!found.ok()) return answer;
  answer.iterations = found->iterations;
  // Costs are integers: a bound above one integer holds for the next.
  const double bound = found->bound * builder.unit();
  answer.bound =
      std::isinf(found->bound) && found->bound > 0
          ? upper
          : std::clamp<int64_t>(
                static_cast<int64_t>(std::ceil(std::max(bound, 0.0))), 0,
                upper);
  if (found->values.empty()) return answer;
  Selection selection(core);
  std::vector<int32_t> choice = builder.ChoiceOf(found->values);
  selection.Assign(choice);
  if (!selection.allowed() || selection.cost() >= upper) return answer;
  answer.cost = selection.cost();
  answer.choice = std::move(choice);
  answer.bound = std::min(answer.bound, answer.cost);
  return answer;
}

}  // namespace meshwright
