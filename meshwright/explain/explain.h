// Explains a plan: which options there were, what each would cost, which
// constraints bind, and what would change a choice.
//
//   ChoiceReport why = ExplainChoice(study, study.GroupNamed("dot.7"), {});
//   why.options[0].text;       // "[data, -] x [-, model] -> [data, model]"
//   why.options[1].regret;     // 0.0018: seconds more, the rest re-optimised
//   why.break_evens[0].factor;       // 0.25: not the best with links that slow
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

// One strategy of a group of equivalent ops, or of a block.
struct OptionReport {
  std::string text;  // "[data, -] x [-, model] -> [data, model]"
  bool is_chosen = false;
  // Whether the requested strategy and the pins allow it.
  bool is_allowed = true;
  // Of this group or block, per step: computing, and resharding its operands
  // and results. With the rest re-optimised for this option if there is a
  // regret; otherwise with the rest as planned.
  double compute_seconds = 0;
  std::optional<double> move_seconds;
  int64_t bytes = 0;  // Of the results of one member, per device.
  // The step's peak per device, with the rest re-optimised.
  std::optional<int64_t> peak_bytes;
  // How much longer the step takes than with the chosen option if everything
  // else may adapt.
  std::optional<double> regret;
  bool is_exact = false;  // Whether `regret` is proven.
  // The same with everything else as planned; nullopt if that is impossible.
  std::optional<double> regret_if_fixed;
  std::string why_not;  // Why no plan has this option.
};

// A break-even point: a change of links or memory from which on the chosen
// option is not the best any more.
struct BreakEven {
  enum class Of : uint8_t {
    kSlowerLinks,
    kFasterLinks,
    kLessMemory,
    kMoreMemory
  };
  Of of = Of::kSlowerLinks;
  // Relative to the present speed of links or memory of a device.
  double factor = 1;
  int64_t bytes = 0;     // The memory at that point.
  std::string instead;   // The best option there; empty: none found.
  bool is_exact = true;  // Proven: the chosen option is worse there.
};

// How an operand is resharded for its user.
struct MoveReport {
  int32_t operand = 0;
  std::string from;   // The HLO name of its producer,
  std::string shown;  // and its display name (explain_names.h).
  std::string moves;  // "all-gather model"; empty if it needs none.
  double seconds = 0;
};

struct ChoiceReport {
  std::string name;   // Of the first of the equivalent ops.
  std::string shown;  // Display name of all of them (explain_names.h).
  std::string opcode;
  std::string shape;
  int64_t count = 1;                  // Equivalent ops, which get one strategy.
  std::string pin;                    // "[data, -]" if it is pinned.
  std::vector<OptionReport> options;  // The chosen one, then by regret.
  std::vector<MoveReport> moves;      // Of operands, as planned.
  std::vector<BreakEven> break_evens;
  double least_speed = 1;  // Range of link speeds that was tried.
  double most_speed = 1;
};

struct ChoiceLimits {
  int options = 16;  // How many are re-solved, most promising first.
  bool break_evens = true;
};

// kNotFound if the plan's option is not among those of the search.
absl::StatusOr<ChoiceReport> ExplainChoice(const PlanStudy& study,
                                           GroupId group,
                                           const ChoiceLimits& limits = {});

// A block: a contraction with the ops that follow its sharding, and its
// options.
struct BlockReport {
  std::string name;   // Of its first contraction.
  std::string shown;  // Display name of all equal blocks.
  std::string shape;
  int64_t count = 1;    // Equal blocks, which get one strategy.
  int64_t members = 1;  // Ops of one block.
  std::vector<OptionReport> options;
};

// Re-solves at most `questions` options over all blocks; the others have no
// regret. Blocks with most computing first. `blocks` are those of the study's
// graph.
std::vector<BlockReport> ExplainBlocks(const PlanStudy& study,
                                       const Blocks& blocks,
                                       int questions = 60);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_H_
