#include "meshwright/pipeline_search/stage_mip.h"

#include <algorithm>
#include <utility>

namespace meshwright {
namespace {

// Tolerances of solvers are absolute: rows and costs are about this large.
constexpr double kScale = 100;

}  // namespace

StageMip::StageMip(const StageGraph& graph,
                   const std::vector<StageRange>& ranges,
                   const std::vector<double>& work,
                   const std::vector<double>& bounds)
    : graph_(graph),
      stages_(static_cast<int32_t>(bounds.size())),
      ranges_(ranges) {
  for (const StageGraph::Value& value : graph.values) {
    unit_ = std::max(unit_, static_cast<double>(value.bytes) / kScale);
  }
  AddNodes();
  for (const StageGraph::Value& value : graph.values) AddValue(value);
  for (StageId stage{0}; stage < stages_; ++stage) {
    Sum sum{.most = kScale};
    for (int32_t node = 0; node < graph.size(); ++node) {
      if (work[node] == 0) continue;
      AddOn(node, stage, kScale * work[node] / bounds[stage], sum);
    }
    AddRow(std::move(sum));
  }
}

void StageMip::LimitMemory(const std::vector<int64_t>& memory) {
  for (StageId stage{0}; stage < std::ssize(memory); ++stage) {
    const double most = std::max(1.0, static_cast<double>(memory[stage]));
    Sum sum{.most = kScale * static_cast<double>(memory[stage]) / most};
    for (int32_t node = 0; node < graph_.size(); ++node) {
      const auto held = static_cast<double>(graph_.nodes[node].held);
      if (held > 0) AddOn(node, stage, kScale * held / most, sum);
    }
    AddRow(std::move(sum));
  }
}

void StageMip::UseAllStages() {
  for (StageId stage{0}; stage < stages_; ++stage) {
    Sum sum{.most = -1};
    for (int32_t node = 0; node < graph_.size(); ++node) {
      AddOn(node, stage, -1, sum);
    }
    AddRow(std::move(sum));
  }
}

void StageMip::AddNodes() {
  for (const StageRange& range : ranges_) {
    first_variable_.push_back(static_cast<int32_t>(mip_.variables.size()));
    for (StageId stage = range.first; stage < range.last; ++stage) {
      const int32_t variable = mip_.AddVariable({});
      if (stage == range.first) continue;
      mip_.AddRow({.upper = 0, .terms = {{variable - 1, 1}, {variable, -1}}});
    }
  }
}

void StageMip::AddValue(const StageGraph::Value& value) {
  const bool made = value.producer != kNoProducer;
  if (value.consumers.empty()) return;
  if (!made) constant_ -= static_cast<double>(value.bytes);
  const auto is_open = [&](int32_t node) {
    return ranges_[node].first < ranges_[node].last;
  };
  if (std::ranges::none_of(value.consumers, is_open) &&
      !(made && is_open(value.producer))) {
    AddConstant(value);
    return;
  }
  StageRange reach = ranges_[value.consumers[0]];
  for (const int32_t consumer : value.consumers) {
    const StageRange& range = ranges_[consumer];
    reach.first = std::min(reach.first, range.first);
    reach.last = std::max(reach.last, range.last);
    if (!made) continue;
    // No earlier than what it needs.
    for (StageId stage = range.first; stage < ranges_[value.producer].last;
         ++stage) {
      Sum sum;
      AddBefore(consumer, stage, 1, sum);
      AddBefore(value.producer, stage, -1, sum);
      AddRow(std::move(sum));
    }
  }
  for (StageId stage = reach.first; stage <= reach.last; ++stage) {
    const int32_t crosses = mip_.AddVariable(
        {.cost = static_cast<double>(value.bytes) / unit_, .integer = false});
    crossings_.push_back({&value, stage, crosses});
    for (const int32_t consumer : value.consumers) {
      const StageRange& range = ranges_[consumer];
      if (stage < range.first || stage > range.last) continue;
      Sum sum{.terms = {{crosses, -1}}};
      AddOn(consumer, stage, 1, sum);
      if (made) AddOn(value.producer, stage, -1, sum);
      AddRow(std::move(sum));
    }
  }
}

// What a value costs whose ends have one stage each.
void StageMip::AddConstant(const StageGraph::Value& value) {
  std::vector<StageId> stages;
  for (const int32_t consumer : value.consumers) {
    const StageId stage = ranges_[consumer].first;
    const bool made_there =
        value.producer != kNoProducer && ranges_[value.producer].first == stage;
    if (!made_there && std::ranges::find(stages, stage) == stages.end()) {
      stages.push_back(stage);
    }
  }
  constant_ +=
      static_cast<double>(value.bytes) * static_cast<double>(stages.size());
}

void StageMip::AddBefore(int32_t node, StageId stage, double factor,
                         Sum& sum) const {
  const StageRange& range = ranges_[node];
  if (stage < range.first) return;
  if (stage >= range.last) {
    sum.most -= factor;
    return;
  }
  sum.terms.push_back({first_variable_[node] + stage - range.first, factor});
}

void StageMip::AddOn(int32_t node, StageId stage, double factor,
                     Sum& sum) const {
  AddBefore(node, stage, factor, sum);
  AddBefore(node, stage - 1, -factor, sum);
}

void StageMip::AddRow(Sum sum) {
  if (sum.terms.empty() && sum.most >= 0) return;
  mip_.AddRow({.upper = sum.most, .terms = std::move(sum.terms)});
}

std::vector<StageId> StageMip::StagesOf(
    const std::vector<double>& values) const {
  std::vector<StageId> stages;
  for (int32_t node = 0; node < graph_.size(); ++node) {
    const StageRange& range = ranges_[node];
    StageId stage = range.first;
    while (stage < range.last &&
           values[first_variable_[node] + stage - range.first] < 0.5) {
      ++stage;
    }
    stages.push_back(stage);
  }
  return stages;
}

std::vector<double> StageMip::ValuesOf(
    const std::vector<StageId>& stages) const {
  std::vector<double> values(mip_.variables.size());
  for (int32_t node = 0; node < graph_.size(); ++node) {
    const StageRange& range = ranges_[node];
    for (StageId stage = std::max(stages[node], range.first);
         stage < range.last; ++stage) {
      values[first_variable_[node] + stage - range.first] = 1;
    }
  }
  for (const Crossing& crossing : crossings_) {
    const StageGraph::Value& value = *crossing.value;
    const auto is_there = [&](int32_t node) {
      return stages[node] == crossing.stage;
    };
    const bool is_made_there =
        value.producer != kNoProducer && is_there(value.producer);
    if (!is_made_there && std::ranges::any_of(value.consumers, is_there)) {
      values[crossing.variable] = 1;
    }
  }
  return values;
}

}  // namespace meshwright
