#include "meshwright/explain/break_even.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace meshwright {
namespace {

// A choice is another one only when it gains more than the solver's slack.
constexpr double kSlack = 3e-5;
constexpr double kPrecision = 1.1;

// What takes the place of the chosen option in some setting.
struct Outcome {
  bool is_flipped = false;
  std::string instead;
  bool is_exact = true;
};

class Finder {
 public:
  Finder(const PlanStudy& study, GroupId group)
      : study_(study), group_(group), chosen_(study.chosen()[group]) {}

  std::vector<BreakEven> Run() {
    const auto links = [&](double factor) {
      return Try({.link_speed = factor});
    };
    Search(BreakEven::Of::kSlowerLinks, 1 / kMostLinkFactor, links);
    Search(BreakEven::Of::kFasterLinks, kMostLinkFactor, links);
    const auto limit = static_cast<double>(study_.plan().memory_bytes);
    const auto memory = [&](double factor) {
      return Try({.memory = static_cast<int64_t>(limit * factor)});
    };
    // Between what the plan needs and what it may have, nothing changes.
    const double needed =
        static_cast<double>(study_.as_planned().peak_bytes) / limit;
    if (needed > 0) {
      Search(BreakEven::Of::kLessMemory, needed / kMostLinkFactor, memory,
             needed);
    }
    // More helps only if the best without a limit needs more.
    const absl::StatusOr<Answer> free = study_.Ask({.any_memory = true});
    if (free.ok() && static_cast<double>(free->peak_bytes) > limit) {
      Search(BreakEven::Of::kMoreMemory,
             static_cast<double>(free->peak_bytes) / limit, memory);
    }
    return std::move(flips_);
  }

 private:
  Outcome Try(Whatif whatif) {
    const absl::StatusOr<Answer> best = study_.Ask(whatif);
    if (!best.ok()) {
      return {.is_flipped = true,
              .is_exact = absl::IsResourceExhausted(best.status())};
    }
    const int32_t option = best->nodes[group_];
    if (option == chosen_) return {};
    whatif.group = group_;
    whatif.option = chosen_;
    const absl::StatusOr<Answer> same = study_.Ask(whatif);
    if (same.ok() && same->seconds <= best->seconds * (1 + kSlack)) return {};
    return {.is_flipped = true,
            .instead = study_.TextOf(group_, option),
            .is_exact = !same.ok() || same->bound > best->seconds};
  }

  // Doubles the distance from `start` until the choice changes, then halves the
  // stretch in which it does.
  void Search(BreakEven::Of of, double end,
              const std::function<Outcome(double)>& outcome, double start = 1) {
    const bool is_up = end > start;
    double same = start;
    double other = start;
    Outcome found;
    while (!found.is_flipped) {
      if (is_up ? other >= end : other <= end) return;
      same = other;
      other = is_up ? other * 2 : other / 2;
      found = outcome(other);
    }
    while (std::max(same / other, other / same) > kPrecision) {
      const double middle = std::sqrt(same * other);
      Outcome there = outcome(middle);
      if (there.is_flipped) {
        other = middle;
        found = std::move(there);
      } else {
        same = middle;
      }
    }
    flips_.push_back(
        {.of = of,
         .factor = other,
         .bytes = static_cast<int64_t>(
             other * static_cast<double>(study_.plan().memory_bytes)),
         .instead = std::move(found.instead),
         .is_exact = found.is_exact});
  }

  const PlanStudy& study_;
  const GroupId group_;
  const int32_t chosen_;
  std::vector<BreakEven> flips_;
};

}  // namespace

std::vector<BreakEven> FindBreakEvens(const PlanStudy& study, GroupId group) {
  return Finder(study, group).Run();
}

}  // namespace meshwright
