#include "meshwright/planner/summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/cost/program_cost.h"
#include "meshwright/planner/plan_tensors.h"
#include "meshwright/planner/state_reshards.h"

namespace meshwright {
namespace {}  // namespace

Mesh NameBatchAxis(const Mesh& mesh, std::optional<int32_t> batch,
                   const std::string& batch_axis) {
  const std::string name = batch_axis.empty() ? kBatchAxis : batch_axis;
  std::vector<MeshAxis> axes = mesh.axes();
  int number = 1;
  for (int32_t i = 0; i < std::ssize(axes); ++i) {
    if (i == batch) {
      axes[i].name = name;
      continue;
    }
    do {
      axes[i].name = number == 1 ? "model" : absl::StrCat("model", number);
      ++number;
    } while (batch.has_value() && axes[i].name == name);
  }
  return *Mesh::Create(std::move(axes), mesh.device_ids());
}

Mesh NameAxes(const StepModel& model, const Assignment& assignment,
              const Mesh& mesh, const std::string& batch_axis) {
  if (!batch_axis.empty()) return NameBatchAxis(mesh, 0, batch_axis);
  const size_t count = mesh.axes().size();
  std::vector<double> weights(count, 0);
  std::vector<double> batch(count, 0);
  double all = 0;
  for (GroupId g{0}; g < model.groups.count(); ++g) {
    if (model.kinds[g] == StateKind::kNone) continue;
    const OpId op = model.groups.members[g][0];
    const Sharding sharding = ResultSharding(
        assignment.rules[op], assignment.strategies[op], 0, mesh);
    const double bytes = static_cast<double>(ByteSize(
                             *model.values[model.group_values[g][0]].shape)) *
                         static_cast<double>(model.groups.members[g].size());
    if (model.kinds[g] == StateKind::kWeight) all += bytes;
    for (size_t i = 0; i < count; ++i) {
      if ((SplitAxes(sharding).Bits() &
           mesh.SubAxes(static_cast<int32_t>(i)).Bits()) == 0) {
        continue;
      }
      if (model.kinds[g] == StateKind::kWeight) weights[i] += bytes;
      if (model.kinds[g] == StateKind::kData) batch[i] += bytes;
    }
  }
  // The axis that splits the least of the weights; among equals the one that
  // splits the batch.
  int32_t data = 0;
  for (int32_t i = 1; i < std::ssize(weights); ++i) {
    if (std::make_tuple(-batch[i], weights[i]) <
        std::make_tuple(-batch[data], weights[data])) {
      data = i;
    }
  }
  const bool has_data = count > 1 || batch[0] > 0 || weights[0] < 0.5 * all;
  return NameBatchAxis(mesh, has_data ? std::optional(data) : std::nullopt);
}

std::vector<Alternative> BestFirst(std::vector<Alternative> alternatives) {
  std::stable_sort(alternatives.begin(), alternatives.end(),
                   [](const Alternative& a, const Alternative& b) {
                     if (a.why_not.empty() != b.why_not.empty()) {
                       return a.why_not.empty();
                     }
                     return a.seconds < b.seconds;
                   });
  return alternatives;
}

void AddCollectives(const std::vector<Collective>& collectives, double times,
                    std::vector<PlannedCollective>& listed) {
  std::map<std::tuple<Opcode, std::string, int64_t, std::string>, size_t> known;
  for (size_t i = 0; i < listed.size(); ++i) {
    const PlannedCollective& one = listed[i];
    known[{one.kind, one.axes, one.bytes, one.tensor}] = i;
  }
  for (const Collective& one : collectives) {
    const Opcode kind = ParseOpcode(one.kind);
    const auto [entry, is_new] = known.try_emplace(
        {kind, one.axes, one.bytes, one.tensor}, listed.size());
    if (is_new) {
      listed.push_back({kind, one.axes, one.tensor, one.devices, one.bytes,
                        one.wire_bytes, 0});
    }
    listed[entry->second].count += times * one.count;
  }
}

std::vector<PlannedCollective> CollectivesOf(
    const StagedStep& step, const StagedLayout& layout,
    const std::vector<StageSplit>& splits) {
  std::vector<PlannedCollective> listed;
  AddCollectives(StateReshards(step, layout, splits), 1, listed);
  for (size_t i = 0; i < step.programs.size(); ++i) {
    const StageProgram::Kind kind = step.programs[i].kind;
    const bool once = kind == StageProgram::Kind::kApply ||
                      kind == StageProgram::Kind::kStart;
    AddCollectives(layout.programs[i].collectives,
                   once ? 1 : static_cast<double>(step.micro_batches), listed);
  }
  return listed;
}

void Summarise(const StepModel& model, const Partitioned& split,
               const Cluster& cluster, const Rates& rates, Plan& plan) {
  plan.tensors = TensorsOf({*model.module, model.roles, model.graph}, split);
  AddCollectives(split.collectives, 1, plan.collectives);
  Prediction& predicted = plan.predicted;
  for (const Collective& one : split.collectives) {
    predicted.comm_bytes += one.wire_bytes * one.count;
  }
  const ProgramEstimate step =
      EstimateProgram(split.module, rates, cluster, plan.mesh());
  predicted.step_seconds = step.step_seconds;
  predicted.compute_seconds = step.compute_seconds;
  predicted.comm_seconds = step.comm_seconds;
  predicted.exposed_comm_seconds = step.exposed_seconds;
  predicted.peak_bytes = step.peak_bytes();
  predicted.origin = rates.memory.origin;
}

}  // namespace meshwright
