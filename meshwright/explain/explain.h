// Why a plan is as it is: the options there were, what each would cost, what
// holds the plan back, and what would change a choice.
//
//   ChoiceReport why = ExplainChoice(study, study.GroupNamed("dot.7"), {});
//   why.options[0].text;       // "[data, -] x [-, model] -> [data, model]"
//   why.options[1].regret;     // 0.0018: seconds more, all else at its best
//   why.flips[0].factor;       // 0.25: chosen no more with links that slow
//
// All times are those of a step, as the search counts them.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/analysis/blocks.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

// One way to split a group of alike ops, or all of a block.
struct OptionReport {
  std::string text;  // "[data, -] x [-, model] -> [data, model]"
  bool is_chosen = false;
  bool is_allowed = true;  // By the strategy and the pins.
  // Of this group or block, per step: computing, and moving what goes in and
  // out. With all else at its best for this option if there is a regret; else
  // with all else as planned.
  double compute_seconds = 0;
  std::optional<double> move_seconds;
  int64_t bytes = 0;  // Of the results of one member, on a device.
  // The step's peak on a device, all else at its best.
  std::optional<int64_t> peak_bytes;
  // More for the step than the chosen option, everything else free to adapt.
  std::optional<double> regret;
  bool is_exact = false;  // `regret` is proved.
  // The same with everything else as planned; none when that is impossible.
  std::optional<double> regret_if_fixed;
  std::string why_not;  // No plan has this option.
};

// A setting at which the chosen option is not the best any more.
struct Flip {
  enum class Of : uint8_t {
    kSlowerLinks,
    kFasterLinks,
    kLessMemory,
    kMoreMemory
  };
  Of of = Of::kSlowerLinks;
  double factor = 1;     // Of the speed of links or the memory of a device.
  int64_t bytes = 0;     // That much memory.
  std::string instead;   // The best option there; empty: none found.
  bool is_exact = true;  // Proved: the chosen option is worse there.
};

// How an operand gets to where it is needed.
struct MoveReport {
  int32_t operand = 0;
  std::string from;   // What makes it, by its HLO name
  std::string shown;  // and as users know it (explain_names.h).
  std::string moves;  // "all-gather model"; empty when it lies right.
  double seconds = 0;
};

struct ChoiceReport {
  std::string name;   // Of the first of the alike ops.
  std::string shown;  // As users know all of them (explain_names.h).
  std::string opcode;
  std::string shape;
  int64_t count = 1;                  // Alike ops, decided as one.
  std::string pin;                    // "[data, -]" when it is pinned.
  std::vector<OptionReport> options;  // The chosen one, then by regret.
  std::vector<MoveReport> moves;      // Of operands, as planned.
  std::vector<Flip> flips;
  double least_speed = 1;  // Links were tried from so slow to so fast.
  double most_speed = 1;
};

struct ChoiceLimits {
  int options = 16;  // Re-solved, most promising first.
  bool flips = true;
};

// kNotFound when the search does not know the plan's option.
absl::StatusOr<ChoiceReport> ExplainChoice(const PlanStudy& study,
                                           int32_t group,
                                           const ChoiceLimits& limits = {});

// A contraction with all that follows its split, and how it could be split.
struct BlockReport {
  std::string name;   // Of its first contraction.
  std::string shown;  // As users know those of all blocks alike.
  std::string shape;
  int64_t count = 1;    // Blocks alike, decided as one.
  int64_t members = 1;  // Of one block.
  std::vector<OptionReport> options;
};

// At most `questions` options are re-solved, over all blocks; the others have
// no regret. Blocks with most computing first. `blocks` are those of the
// study's graph.
std::vector<BlockReport> ExplainBlocks(const PlanStudy& study,
                                       const Blocks& blocks,
                                       int questions = 60);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_H_
