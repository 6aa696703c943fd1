// Plans as JSON.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/plan/pipeline_json.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

Json AxesJson(const AxisList& axes) {
  Json json = Json::array();
  for (const AxisId axis : axes) json.push_back(axis);
  return json;
}

// {"split": [[factor, axes...], ...], "pending": {...}}
Json StrategyJson(const Strategy& strategy) {
  Json split = Json::array();
  for (size_t i = 0; i < strategy.factor_axes.size(); ++i) {
    if (strategy.factor_axes[i].empty()) continue;
    Json one = {i};
    for (const AxisId axis : strategy.factor_axes[i]) one.push_back(axis);
    split.push_back(std::move(one));
  }
  Json json = {{"factors", strategy.factor_axes.size()}, {"split", split}};
  if (strategy.linear >= 0) {
    json["pending"] = {{"linear", strategy.linear},
                       {"reduction", static_cast<int>(strategy.reduction)},
                       {"axes", AxesJson(strategy.pending)}};
  }
  return json;
}

// By dimension the names of its axes.
Json DimensionsJson(const Sharding& sharding, const Mesh& mesh) {
  Json dims = Json::array();
  for (const DimSharding& dim : sharding.dims) {
    Json axes = Json::array();
    int32_t last = -1;
    for (const AxisId axis : AxesOf(dim)) {
      const int32_t named = mesh.sub_axes()[axis].axis;
      if (named != last) axes.push_back(mesh.axes()[named].name);
      last = named;
    }
    dims.push_back(std::move(axes));
  }
  return dims;
}

Json TensorsJson(const std::vector<PlannedTensor>& tensors, const Mesh& mesh) {
  Json json = Json::array();
  for (const PlannedTensor& tensor : tensors) {
    json.push_back({{"name", tensor.name},
                    {"dimensions", tensor.dimensions},
                    {"type", tensor.type},
                    {"sharding", ToString(tensor.sharding, mesh)}});
  }
  return json;
}

Json StrategiesJson(const std::vector<Strategy>& strategies) {
  std::map<std::string, int> known;
  Json distinct = Json::array();
  Json runs = Json::array();
  for (const Strategy& strategy : strategies) {
    Json json = StrategyJson(strategy);
    const auto [entry, is_new] =
        known.try_emplace(json.dump(), static_cast<int>(known.size()));
    if (is_new) distinct.push_back(std::move(json));
    if (!runs.empty() && runs.back()[0] == entry->second) {
      runs.back()[1] = runs.back()[1].get<int64_t>() + 1;
    } else {
      runs.push_back({entry->second, 1});
    }
  }
  return {{"distinct", distinct}, {"runs", runs}};
}

Json SteeringJson(const Steering& steering) {
  Json pins = Json::array();
  for (const Steering::Pin& pin : steering.pins) {
    pins.push_back(
        {{"what", pin.what}, {"name", pin.name}, {"sharding", pin.sharding}});
  }
  return {{"forbidden", steering.forbidden},
          {"batch_axis", steering.batch_axis},
          {"pins", pins}};
}

Steering ReadSteering(const Json& json) {
  Steering steering;
  steering.forbidden = json.at("forbidden").get<std::vector<std::string>>();
  steering.batch_axis = json.at("batch_axis").get<std::string>();
  for (const Json& one : json.at("pins")) {
    steering.pins.push_back({one.at("what").get<std::string>(),
                             one.at("name").get<std::string>(),
                             one.at("sharding").get<std::string>()});
  }
  return steering;
}

class Reader {
 public:
  absl::StatusOr<Plan> Read(const Json& json) {
    if (json.value("format", 0) != kFormat) {
      return absl::InvalidArgumentError(
          absl::StrCat("a plan of format ", json.value("format", 0),
                       "; this version reads ", kFormat));
    }
    std::vector<MeshAxis> axes;
    for (const auto& [name, size] : json.at("mesh").items()) {
      axes.push_back({name, size.get<int64_t>()});
    }
    MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Create(std::move(axes)));
    Plan plan(std::move(mesh));
    plan.module_name = json.at("module").get<std::string>();
    if (!absl::SimpleHexAtoi(json.at("fingerprint").get<std::string>(),
                             &plan.fingerprint)) {
      return absl::InvalidArgumentError("its fingerprint is no number");
    }
    plan.strategy = json.at("strategy").get<std::string>();
    plan.cluster = json.at("cluster").dump();
    plan.rates = json.at("rates").dump();
    plan.memory_bytes = json.at("memory_bytes").get<int64_t>();
    if (json.contains("steering")) {
      plan.steering = ReadSteering(json.at("steering"));
    }
    plan.micro_batches = json.at("micro_batches").get<int64_t>();
    plan.recompute = json.value("recompute", plan.recompute);
    if (json.contains("pipeline")) {
      MW_ASSIGN_OR_RETURN(plan.pipeline, ReadPipeline(json.at("pipeline")));
    }
    MW_RETURN_IF_ERROR(ReadTensors(json.at("tensors").at("parameters"),
                                   plan.mesh, plan.parameters));
    MW_RETURN_IF_ERROR(
        ReadTensors(json.at("tensors").at("outputs"), plan.mesh, plan.outputs));
    ReadCollectives(json.at("collectives"), plan);
    ReadPrediction(json, plan);
    for (const Json& one : json.at("alternatives")) {
      plan.alternatives.push_back(
          {one.at("mesh").get<std::string>(),
           one.at("micro_batches").get<int64_t>(), one.value("stages", 1),
           one.value("recompute", "none"), one.at("seconds").get<double>(),
           one.at("bound").get<double>(),
           one.at("why_not").get<std::string>()});
    }
    plan.notes = json.at("notes").get<std::vector<std::string>>();
    const Json& moved = json.at("moved");
    plan.moved_apart = moved.at("apart").get<std::vector<int64_t>>();
    plan.moved_in_place = moved.at("in_place").get<std::vector<int64_t>>();
    return ReadStrategies(json.at("strategies"), std::move(plan));
  }

 private:
  static absl::Status ReadTensors(const Json& json, const Mesh& mesh,
                                  std::vector<PlannedTensor>& tensors) {
    for (const Json& one : json) {
      PlannedTensor tensor;
      tensor.name = one.at("name").get<std::string>();
      tensor.dimensions = one.at("dimensions").get<std::vector<int64_t>>();
      tensor.type = one.at("type").get<std::string>();
      MW_ASSIGN_OR_RETURN(tensor.sharding,
                          ParseSharding(one.at("sharding").get<std::string>(),
                                        tensor.dimensions, mesh));
      tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  static void ReadCollectives(const Json& json, Plan& plan) {
    for (const Json& one : json) {
      plan.collectives.push_back(
          {one.at("kind").get<std::string>(), one.at("axes").get<std::string>(),
           one.at("tensor").get<std::string>(),
           one.at("devices").get<int64_t>(), one.at("bytes").get<int64_t>(),
           one.at("wire_bytes").get<double>(), one.at("count").get<double>()});
    }
  }

  static void ReadPrediction(const Json& json, Plan& plan) {
    const Json& predicted = json.at("predicted");
    plan.predicted = {
        .step_seconds = predicted.at("step_seconds").get<double>(),
        .compute_seconds = predicted.at("compute_seconds").get<double>(),
        .comm_seconds = predicted.at("comm_seconds").get<double>(),
        .exposed_comm_seconds =
            predicted.at("exposed_comm_seconds").get<double>(),
        .comm_bytes = predicted.at("comm_bytes").get<double>(),
        .peak_bytes = predicted.at("peak_bytes").get<int64_t>(),
        .origin = predicted.at("origin").get<std::string>()};
    plan.gap = json.at("bound").at("gap").get<double>();
  }

  static absl::StatusOr<Strategy> ReadStrategy(const Json& json,
                                               const Mesh& mesh) {
    const auto axis = [&](const Json& one) -> absl::StatusOr<AxisId> {
      const int64_t id = one.get<int64_t>();
      if (id < 0 || id >= static_cast<int64_t>(mesh.sub_axes().size())) {
        return absl::InvalidArgumentError(absl::StrCat("a strategy has axis ",
                                                       id, ", the mesh has ",
                                                       mesh.sub_axes().size()));
      }
      return static_cast<AxisId>(id);
    };
    Strategy strategy;
    const int64_t factors = json.at("factors").get<int64_t>();
    if (factors < 0 || factors > 1000) {
      return absl::InvalidArgumentError(
          absl::StrCat("a strategy has ", factors, " factors"));
    }
    strategy.factor_axes.resize(factors);
    for (const Json& one : json.at("split")) {
      const int64_t factor = one.at(0).get<int64_t>();
      if (factor < 0 || factor >= factors) {
        return absl::InvalidArgumentError(
            absl::StrCat("a strategy splits factor ", factor, " of ", factors));
      }
      for (size_t i = 1; i < one.size(); ++i) {
        MW_ASSIGN_OR_RETURN(const AxisId id, axis(one[i]));
        strategy.factor_axes[factor].push_back(id);
      }
    }
    if (json.contains("pending")) {
      const Json& pending = json.at("pending");
      strategy.linear = pending.at("linear").get<int32_t>();
      const int reduction = pending.at("reduction").get<int>();
      if (reduction < 0 || reduction > static_cast<int>(Reduction::kOr)) {
        return absl::InvalidArgumentError(
            absl::StrCat("a strategy has reduction ", reduction));
      }
      strategy.reduction = static_cast<Reduction>(reduction);
      for (const Json& one : pending.at("axes")) {
        MW_ASSIGN_OR_RETURN(const AxisId id, axis(one));
        strategy.pending.push_back(id);
      }
    }
    return strategy;
  }

  static absl::StatusOr<Plan> ReadStrategies(const Json& json, Plan plan) {
    std::vector<Strategy> distinct;
    for (const Json& one : json.at("distinct")) {
      MW_ASSIGN_OR_RETURN(Strategy strategy, ReadStrategy(one, plan.mesh));
      distinct.push_back(std::move(strategy));
    }
    for (const Json& run : json.at("runs")) {
      const int64_t index = run.at(0).get<int64_t>();
      const int64_t count = run.at(1).get<int64_t>();
      if (index < 0 || index >= static_cast<int64_t>(distinct.size()) ||
          count < 0 || count > 100'000'000) {
        return absl::InvalidArgumentError(
            absl::StrCat("a run of strategy ", index, " does not exist"));
      }
      plan.strategies.insert(plan.strategies.end(), count, distinct[index]);
    }
    return plan;
  }
};

}  // namespace

std::string ToJson(const Plan& plan, const PlanJsonOptions& options) {
  Json mesh = Json::object();
  for (const MeshAxis& axis : plan.mesh.axes()) mesh[axis.name] = axis.size;
  Json parameters = Json::array();
  Json outputs = Json::array();
  for (const PlannedTensor& tensor : plan.parameters) {
    parameters.push_back(DimensionsJson(tensor.sharding, plan.mesh));
  }
  for (const PlannedTensor& tensor : plan.outputs) {
    outputs.push_back(DimensionsJson(tensor.sharding, plan.mesh));
  }
  Json collectives = Json::array();
  for (const PlannedCollective& one : plan.collectives) {
    collectives.push_back({{"kind", one.kind},
                           {"axes", one.axes},
                           {"tensor", one.tensor},
                           {"devices", one.devices},
                           {"bytes", one.bytes},
                           {"wire_bytes", one.wire_bytes},
                           {"count", one.count}});
  }
  Json alternatives = Json::array();
  for (const Alternative& one : plan.alternatives) {
    alternatives.push_back({{"mesh", one.mesh},
                            {"micro_batches", one.micro_batches},
                            {"stages", one.stages},
                            {"recompute", one.recompute},
                            {"seconds", one.seconds},
                            {"bound", one.bound},
                            {"why_not", one.why_not}});
  }
  const Prediction& p = plan.predicted;
  Json json = {
      {"format", kFormat},
      {"module", plan.module_name},
      {"fingerprint", absl::StrFormat("%016x", plan.fingerprint)},
      {"strategy", plan.strategy},
      {"cluster", Json::parse(plan.cluster, nullptr, false)},
      {"rates", Json::parse(plan.rates, nullptr, false)},
      {"memory_bytes", plan.memory_bytes},
      {"steering", SteeringJson(plan.steering)},
      {"mesh", mesh},
      {"devices", plan.device_count()},
      {"stages", plan.stages()},
      {"micro_batches", plan.micro_batches},
      {"recompute", plan.recompute},
      {"schedule",
       plan.pipeline.has_value() ? plan.pipeline->schedule : "none"},
      {"predicted",
       {{"step_seconds", p.step_seconds},
        {"compute_seconds", p.compute_seconds},
        {"comm_seconds", p.comm_seconds},
        {"exposed_comm_seconds", p.exposed_comm_seconds},
        {"comm_bytes", p.comm_bytes},
        {"peak_bytes", p.peak_bytes},
        {"origin", p.origin}}},
      {"bound", {{"gap", plan.gap}}},
      {"shardings", {{"parameters", parameters}, {"outputs", outputs}}},
      {"tensors",
       {{"parameters", TensorsJson(plan.parameters, plan.mesh)},
        {"outputs", TensorsJson(plan.outputs, plan.mesh)}}},
      {"collectives", collectives},
      {"alternatives", alternatives},
      {"notes", plan.notes}};
  if (plan.pipeline.has_value()) {
    json["pipeline"] = PipelineJson(*plan.pipeline);
  }
  if (options.with_strategies) {
    json["strategies"] = StrategiesJson(plan.strategies);
    json["moved"] = {{"apart", plan.moved_apart},
                     {"in_place", plan.moved_in_place}};
  }
  if (options.with_seconds) {
    Json seconds = Json::object();
    for (const auto& [phase, time] : plan.seconds) seconds[phase] = time;
    json["seconds"] = seconds;
  }
  return json.dump(1);
}

absl::StatusOr<Plan> ParsePlan(absl::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(
        "this is no plan: not a JSON object (meshwright plan -o FILE writes "
        "one)");
  }
  try {
    return Reader().Read(json);
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is no plan: ", error.what()));
  }
}

}  // namespace meshwright
