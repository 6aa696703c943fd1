#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cost/part_rates.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/mesh/link_words.h"
#include "meshwright/partition/supported.h"
#include "meshwright/planner/batch_axis.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/sorted_rows.h"
#include "meshwright/remat/recompute_loops.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/suggest_rule.h"

namespace meshwright {
namespace {

// How a plan distributes work over different hosts; empty if they are equal.
std::string NoteOnUnevenHosts(const Cluster& cluster, const Plan& plan) {
  if (!cluster.IsUneven()) return "";
  const std::string hosts =
      cluster.models.empty() ? "in links" : HostsInWords(cluster);
  const std::vector<int64_t> memory = plan.MemoryOfRanks();
  const auto [least, most] = std::ranges::minmax(memory);
  std::vector<double> speeds;
  int64_t first = 0;
  for (int32_t rank = 0; rank < plan.ranks(); ++rank) {
    const int64_t devices = plan.LayoutOf(rank).mesh.device_count();
    speeds.push_back(SpeedOfPart(cluster, first, devices));
    first += devices;
  }
  std::vector<std::string> parts;
  const auto [slowest, fastest] = std::ranges::minmax(speeds);
  if (slowest < fastest) {
    parts.push_back(absl::StrFormat(
        "stages on slower devices get less work, by speed down to %.0f %% of "
        "what the fastest get",
        100 * slowest / fastest));
  }
  if (least < most) {
    parts.push_back(
        absl::StrCat("each stage may use the memory of its own "
                     "devices, ",
                     FormatBytes(least), " to ", FormatBytes(most)));
  }
  if (!parts.empty()) {
    return absl::StrCat("hosts differ (", hosts,
                        "): ", absl::StrJoin(parts, "; "));
  }
  return absl::StrCat(
      "hosts differ (", hosts,
      "): the slowest device and the smallest memory count for all",
      plan.ranks() > 1 ? ", as every stage has some of the slowest" : "",
      "; stages on hosts of one kind each (--stages) would share the work by "
      "speed");
}

// Notes on what the user may not have intended with devices and links.
std::vector<std::string> NotesOnCluster(const Cluster& cluster,
                                        const PlanRequest& request,
                                        const Plan& plan) {
  std::vector<std::string> notes = cluster.warnings;
  for (std::string& note : UnusualLinks(cluster)) {
    notes.push_back(std::move(note));
  }
  if (std::string note = NoteOnUnevenHosts(cluster, plan); !note.empty()) {
    notes.push_back(std::move(note));
  }
  const int64_t used = plan.device_count();
  const int64_t present = cluster.device_count();
  if (used < present) {
    notes.push_back(absl::StrCat(
        used, " of ", present, " devices are used, ", present - used,
        present - used == 1 ? " is" : " are", " idle: ",
        plan.stages() > 1
            ? absl::StrCat("the meshes of ", plan.ranks(), " ranks have ", used)
            : absl::StrCat("the mesh ", plan.mesh().ToString(), " has ", used),
        request.mesh.has_value() ? "; without --mesh all are used" : ""));
  }
  if (used > 1 && plan.stages() == 1 && plan.collectives.empty() &&
      std::ranges::all_of(plan.tensors.parameters, IsReplicated,
                          &PlannedTensor::sharding)) {
    notes.push_back(
        absl::StrCat("nothing is split: each of ", used,
                     " devices computes the whole step, as one alone would"));
  }
  return notes;
}

// For kernels that have no bodies for some splits that the plan's devices and
// micro-batches could use: lowering stopped at its limit.
std::vector<std::string> NotesOnVariants(const Module& module,
                                         const Plan& plan) {
  const int64_t parts = plan.device_count() * plan.micro_batches;
  std::vector<std::string> notes;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      const std::optional<VariantLimit> limit = VariantLimitOf(*instruction);
      if (!limit.has_value() || limit->parts > parts) continue;
      std::string note = absl::StrCat(
          TargetOrOpcode(*instruction), ": some splits into ", limit->parts,
          " or more parts have no body, as lowering stopped at its limit of ",
          "variants; meshwright.lower(..., kernel_variants=", limit->for_all,
          ") has all");
      if (!std::ranges::count(notes, note)) notes.push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace

// A step without anything to rematerialise is planned without; a note says so
// if the user asked for it.
absl::StatusOr<PlanChoice> MakePlanIn(const Module& module,
                                      const Cluster& cluster,
                                      const Rates& rates,
                                      const PlanRequest& request,
                                      const SearchMode& mode,
                                      const SearchPolicy& policy) {
  MW_RETURN_IF_ERROR(CheckSupported(Flatten(module)));
  PlanRequest possible = request;
  std::vector<std::string> notes;
  if (request.recompute.value_or(Recompute::kNone) != Recompute::kNone) {
    const absl::Status can =
        RecomputeForward(module, *request.recompute).status();
    notes = WhyLoopsStay(module, *request.recompute == Recompute::kSelective);
    if (absl::IsFailedPrecondition(can)) {
      possible.recompute = Recompute::kNone;
      notes.insert(notes.begin(),
                   absl::StrCat("without ", Name(*request.recompute),
                                " recomputation: ", can.message()));
    } else {
      MW_RETURN_IF_ERROR(can);
    }
  }
  MW_ASSIGN_OR_RETURN(
      PlanChoice choice,
      FindPlanSortingInBlocks(module, cluster, rates, possible, mode, policy));
  Plan& plan = choice.plan;
  for (std::string& note : WhyBatchStays(module, request, plan)) {
    notes.push_back(std::move(note));
  }
  for (std::string& note : WhyWeightsStay(request, plan)) {
    notes.push_back(std::move(note));
  }
  for (std::string& note : NotesOnCluster(cluster, request, plan)) {
    notes.push_back(std::move(note));
  }
  for (std::string& note : NotesOnVariants(module, plan)) {
    notes.push_back(std::move(note));
  }
  if (std::string note =
          DropoutNote(module, plan.device_count(), plan.micro_batches);
      !note.empty()) {
    notes.push_back(std::move(note));
  }
  for (std::string& note : notes) {
    if (!std::ranges::count(plan.notes, note)) {
      plan.notes.push_back(std::move(note));
    }
  }
  return choice;
}

absl::StatusOr<PlanChoice> MakePlans(const Module& module,
                                     const Cluster& cluster, const Rates& rates,
                                     const PlanRequest& request) {
  return MakePlanIn(module, cluster, rates, request, {.keeps_finalists = true},
                    {});
}

absl::StatusOr<Plan> MakePlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request) {
  MW_ASSIGN_OR_RETURN(PlanChoice choice,
                      MakePlanIn(module, cluster, rates, request, {}, {}));
  return std::move(choice.plan);
}

}  // namespace meshwright
