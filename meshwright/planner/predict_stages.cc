#include "meshwright/planner/predict_stages.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "meshwright/cost/program_cost.h"
#include "meshwright/reshard/reshard.h"
#include "meshwright/schedule/stage_edges.h"
#include "meshwright/search/options.h"

namespace meshwright {
namespace {

using Kind = StageProgram::Kind;

class Predictor {
 public:
  Predictor(const StagedStep& step, const StagedLayout& layout, int32_t ranks,
            const Cluster& cluster, const std::vector<Rates>& rates,
            const std::vector<Prices>& prices)
      : step_(step),
        layout_(layout),
        ranks_(ranks),
        cluster_(cluster),
        rates_(rates),
        prices_(prices) {
    int64_t next = 0;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      first_device_.push_back(next);
      next += layout.meshes[rank].device_count();
    }
    predicted_.costs.stages.resize(step.stages);
    predicted_.fixed_bytes.resize(step.stages, 0);
    predicted_.compute_seconds.resize(step.stages, 0);
    predicted_.exposed_seconds.resize(step.stages, 0);
    predicted_.comm_seconds.resize(step.stages, 0);
    predicted_.comm_bytes.resize(step.stages, 0);
  }

  StagePrediction Run() {
    AddPrograms();
    AddState();
    AddHeld();
    AddEdges();
    return std::move(predicted_);
  }

 private:
  int64_t LocalBytes(const Shape& shape, const Sharding& sharding,
                     StageId stage) const {
    return static_cast<int64_t>(std::ceil(
        meshwright::LocalBytes(shape, sharding, layout_.meshes[stage])));
  }

  void AddPrograms() {
    std::vector<int64_t>& room = predicted_.room_bytes;
    room.resize(step_.stages, 0);
    for (size_t i = 0; i < step_.programs.size(); ++i) {
      const StageProgram& program = step_.programs[i];
      const StageId stage = program.stage;
      const ProgramEstimate estimate =
          EstimateProgram(layout_.programs[i].module, rates_[stage], cluster_,
                          layout_.meshes[stage], prices_[stage]);
      StageCost& cost = predicted_.costs.stages[stage];
      const bool once =
          program.kind == Kind::kApply || program.kind == Kind::kStart;
      (program.kind == Kind::kForward  ? cost.forward
       : program.kind == Kind::kInput  ? cost.input_grad
       : program.kind == Kind::kWeight ? cost.weight_grad
                                       : cost.apply) += estimate.step_seconds;
      const double times = once ? 1 : static_cast<double>(step_.micro_batches);
      if (!once) {
        predicted_.compute_seconds[stage] += times * estimate.compute_seconds;
        predicted_.exposed_seconds[stage] += times * estimate.exposed_seconds;
      }
      predicted_.comm_seconds[stage] += times * estimate.comm_seconds;
      predicted_.comm_bytes[stage] += times * estimate.comm_bytes;
      // A second round needs the results of the first from all stages.
      if (program.round > 0) predicted_.costs.apply_after_all = true;
      room[stage] =
          std::max(room[stage], estimate.memory.temporaries + MadeBeside(i));
    }
  }

  // The memory that a program needs in addition to what a micro-batch holds:
  // forward results are held from the beginning, accumulators and state are
  // replaced.
  int64_t MadeBeside(size_t index) const {
    const StageProgram& program = step_.programs[index];
    if (program.kind != Kind::kInput) return 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < step_.values.size(); ++i) {
      const StageValue& value = step_.values[i];
      if (value.program != static_cast<int32_t>(index) ||
          value.accumulator.has_value()) {
        continue;
      }
      bytes += LocalBytes(
          value.shape,
          layout_.values.at({static_cast<int64_t>(i), program.stage}),
          program.stage);
    }
    return bytes;
  }

  // Parameters, accumulators, and resharded state.
  void AddState() {
    std::map<std::pair<int64_t, int32_t>, const Shape*> shapes;
    for (const StageProgram& program : step_.programs) {
      const StageId stage = program.stage;
      const auto parameters = program.module.entry()->Parameters();
      for (size_t i = 0; i < parameters.size(); ++i) {
        const StageInput& input = program.inputs[i];
        const std::pair key = {input.index, stage};
        if (input.kind != StageInput::Kind::kParameter ||
            !shapes.try_emplace(key, &parameters[i]->shape).second) {
          continue;
        }
        // The data of all micro-batches is present.
        predicted_.fixed_bytes[stage] +=
            LocalBytes(parameters[i]->shape, layout_.parameters.at(key),
                       stage) *
            (input.batch_dim.has_value() ? step_.micro_batches : 1);
      }
    }
    for (const auto& [key, sharding] : layout_.accumulators) {
      predicted_.fixed_bytes[key.second] +=
          LocalBytes(step_.accumulators[key.first].shape, sharding, key.second);
    }
    for (const auto& [key, sharding] : layout_.at_work) {
      const Shape& shape = *shapes.at(key);
      const StageId stage = key.second;
      predicted_.fixed_bytes[stage] += LocalBytes(shape, sharding, stage);
      Resharder resharder(&layout_.meshes[stage], prices_[stage]);
      const Sharding& kept = layout_.parameters.at(key);
      const double seconds =
          resharder.Price(shape.element_type, kept, sharding);
      for (const ReshardStep& move :
           resharder.Path(shape.element_type, kept, sharding)) {
        predicted_.comm_bytes[stage] += move.wire_bytes;
      }
      predicted_.costs.stages[stage].apply += seconds;
      predicted_.comm_seconds[stage] += seconds;
    }
  }

  // Residuals of a micro-batch's programs for its backward pass. Gradients from
  // other stages count as in transit.
  void AddHeld() {
    std::vector<int64_t> kept(step_.stages, 0);
    for (size_t i = 0; i < step_.values.size(); ++i) {
      const StageValue& value = step_.values[i];
      const StageProgram& maker = step_.programs[value.program];
      if (value.accumulator.has_value()) continue;
      std::map<StageId, bool> stages;  // By stage: whether W uses it.
      for (const ProgramId user : value.users) {
        const StageProgram& program = step_.programs[user];
        if (program.kind != Kind::kInput && program.kind != Kind::kWeight) {
          continue;
        }
        stages[program.stage] |= program.kind == Kind::kWeight;
      }
      for (const auto& [stage, for_weights] : stages) {
        const int64_t bytes = LocalBytes(
            value.shape, layout_.values.at({static_cast<int64_t>(i), stage}),
            stage);
        if (maker.kind == Kind::kForward) {
          predicted_.costs.stages[stage].held_bytes += bytes;
        }
        if (for_weights &&
            (maker.kind == Kind::kForward || maker.stage == stage)) {
          kept[stage] += bytes;
        }
      }
    }
    for (StageId stage{0}; stage < step_.stages; ++stage) {
      predicted_.costs.stages[stage].kept_bytes = kept[stage];
    }
  }

  double SecondsBetween(StageId from, StageId to, int64_t bytes) const {
    const auto devices = [&](StageId stage) {
      return StageDevices{first_device_[stage % ranks_],
                          layout_.meshes[stage].device_count()};
    };
    return TransferSeconds(devices(from), devices(to), bytes, cluster_,
                           {&rates_[from], &rates_[to]});
  }

  void AddEdges() {
    std::vector<StageEdge>& edges = predicted_.costs.edges;
    edges = EdgesOf(step_);
    std::map<std::pair<StageId, StageId>, StageEdge*> known;
    for (StageEdge& edge : edges) known[{edge.from, edge.to}] = &edge;
    for (size_t i = 0; i < step_.values.size(); ++i) {
      const StageValue& value = step_.values[i];
      const StageProgram& from = step_.programs[value.program];
      if (from.kind == Kind::kApply || from.kind == Kind::kStart) continue;
      std::set<StageId> to;
      for (const ProgramId user : value.users) {
        if (step_.programs[user].stage != from.stage) {
          to.insert(step_.programs[user].stage);
        }
      }
      for (const StageId stage : to) {
        const int64_t bytes = LocalBytes(
            value.shape, layout_.values.at({static_cast<int64_t>(i), stage}),
            stage);
        StageEdge& edge = *known.at(std::minmax<StageId>(from.stage, stage));
        (from.stage < stage ? edge.forward_bytes : edge.backward_bytes) +=
            bytes;
      }
    }
    for (StageEdge& edge : edges) {
      if (edge.forward_bytes > 0) {
        edge.forward_seconds =
            SecondsBetween(edge.from, edge.to, edge.forward_bytes);
      }
      if (edge.backward_bytes > 0) {
        edge.backward_seconds =
            SecondsBetween(edge.to, edge.from, edge.backward_bytes);
      }
    }
  }

  const StagedStep& step_;
  const StagedLayout& layout_;
  const int32_t ranks_;
  const Cluster& cluster_;
  const std::vector<Rates>& rates_;    // By stage.
  const std::vector<Prices>& prices_;  // By stage.
  std::vector<int64_t> first_device_;  // By rank.
  StagePrediction predicted_;
};

// Bytes through the busiest port if each of `receivers` gets a byte, in equal
// parts from all of `senders`.
double MostAtPort(int64_t senders, int64_t receivers, const LinkLevel& links) {
  const double sent =
      static_cast<double>(receivers * std::min(senders, links.port_devices)) /
      static_cast<double>(senders);
  const auto received =
      static_cast<double>(std::min(receivers, links.port_devices));
  return std::max(sent, received);
}

}  // namespace

double TransferSeconds(const StageDevices& from, const StageDevices& to,
                       int64_t bytes, const Cluster& cluster,
                       std::array<const Rates*, 2> ends) {
  for (size_t level = 0; level < cluster.levels.size(); ++level) {
    const int64_t devices = cluster.levels[level].devices;
    if (from.first / devices != to.first / devices) continue;
    double latency = 0;
    double seconds_per_byte = 0;
    // The slower end counts. The network's inner ports are on the path, too.
    for (const Rates* rates : ends) {
      for (size_t passed = 0; passed <= level; ++passed) {
        const LinkLevel& links = cluster.levels[passed];
        if (passed < level && !cluster.IsNetwork(links)) continue;
        const CollectiveRate rate =
            rates->Of(MoveKind::kPermute, static_cast<int32_t>(passed), 2);
        seconds_per_byte =
            std::max(seconds_per_byte,
                     rate.per_byte * MostAtPort(from.count, to.count, links));
        if (passed == level) latency = rate.latency;
      }
    }
    return latency + seconds_per_byte * static_cast<double>(bytes);
  }
  return 0;
}

StagePrediction PredictStages(const StagedStep& step,
                              const StagedLayout& layout, int32_t ranks,
                              const Cluster& cluster,
                              const std::vector<Rates>& rates,
                              const std::vector<Prices>& prices) {
  return Predictor(step, layout, ranks, cluster, rates, prices).Run();
}

}  // namespace meshwright
