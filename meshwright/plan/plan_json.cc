// Plans as JSON.
#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/plan/layout_json.h"
#include "meshwright/plan/pipeline_json.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// To be raised when this version reads a module, makes a step of it or lowers
// strategies in another way than before (tests/e2e/test_frozen_plans.py).
// 2: with the fingerprint of the step. 3: fingerprints are of HLO text. 4: one
// list of layouts.
constexpr int kFormat = 4;

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

Json TensorsJson(const std::vector<PlannedTensor>& tensors, const Plan& plan) {
  Json json = Json::array();
  for (const PlannedTensor& tensor : tensors) {
    json.push_back({{"name", tensor.name},
                    {"dimensions", tensor.dimensions},
                    {"type", std::string(Name(tensor.type))},
                    {"sharding", plan.TextOf(tensor)}});
    if (tensor.layout > 0) json.back()["layout"] = tensor.layout;
  }
  return json;
}

Json SteeringJson(const Steering& steering) {
  Json pins = Json::array();
  for (const Steering::Pin& pin : steering.pins) {
    pins.push_back({{"what", std::string(Name(pin.kind))},
                    {"name", pin.name},
                    {"sharding", pin.sharding}});
  }
  Json forbidden = Json::array();
  for (const Forbidden& one : steering.forbidden) {
    forbidden.push_back(ToString(one));
  }
  return {{"forbidden", forbidden},
          {"batch_axis", steering.batch_axis},
          {"pins", pins}};
}

// The one of `all` whose name is in the file.
template <typename T>
absl::StatusOr<T> OneOf(const Json& json, const char* what,
                        std::initializer_list<T> all) {
  const std::string text = json.get<std::string>();
  for (const T one : all) {
    if (text == Name(one)) return one;
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no ", what));
}

absl::StatusOr<Steering> ReadSteering(const Json& json, const Mesh& mesh) {
  Steering steering;
  for (const Json& text : json.at("forbidden")) {
    MW_ASSIGN_OR_RETURN(const std::vector<Forbidden> one,
                        ParseForbidden(text.get<std::string>()));
    steering.forbidden.insert(steering.forbidden.end(), one.begin(), one.end());
  }
  MW_RETURN_IF_ERROR(CheckAxes(steering.forbidden, mesh));
  steering.batch_axis = json.at("batch_axis").get<std::string>();
  for (const Json& one : json.at("pins")) {
    MW_ASSIGN_OR_RETURN(
        const PinKind kind,
        OneOf(one.at("what"), "kind of pin",
              {PinKind::kParameter, PinKind::kOutput, PinKind::kInstruction}));
    steering.pins.push_back({kind, one.at("name").get<std::string>(),
                             one.at("sharding").get<std::string>()});
  }
  return steering;
}

absl::StatusOr<Recompute> ReadRecompute(const Json& json) {
  return ParseRecompute(json.value("recompute", "none"));
}

// What a plan is for, and whether its parts fit each other.
absl::Status ReadTask(const Json& json, Plan& plan) {
  MW_ASSIGN_OR_RETURN(plan.strategy,
                      ParseExpert(json.at("strategy").get<std::string>()));
  MW_ASSIGN_OR_RETURN(plan.cluster, ParseCluster(json.at("cluster").dump()));
  MW_ASSIGN_OR_RETURN(plan.rates, ParseRates(json.at("rates").dump()));
  if (plan.rates.levels.size() != plan.cluster.levels.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan's rates are of ", plan.rates.levels.size(),
        " levels of links, its cluster has ", plan.cluster.levels.size()));
  }
  if (plan.mesh().device_count() > plan.cluster.device_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's mesh ", plan.mesh().ToString(), " has ",
                     plan.mesh().device_count(), " devices, its cluster ",
                     plan.cluster.device_count()));
  }
  if (json.at("mesh") != MeshJson(plan.mesh())) {
    return absl::InvalidArgumentError(
        "the plan's mesh is not that of its first layout: it was edited; plan "
        "again");
  }
  plan.memory_bytes = json.at("memory_bytes").get<int64_t>();
  if (json.contains("steering")) {
    MW_ASSIGN_OR_RETURN(plan.steering,
                        ReadSteering(json.at("steering"), plan.mesh()));
  }
  plan.micro_batches = json.at("micro_batches").get<int64_t>();
  if (plan.micro_batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", plan.micro_batches, " micro-batches"));
  }
  MW_ASSIGN_OR_RETURN(plan.recompute, ReadRecompute(json));
  plan.row_blocks = json.value("row_blocks", int64_t{1});
  if (plan.row_blocks < 1 || plan.row_blocks > plan.cluster.device_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", plan.row_blocks,
                     " row_blocks; must be 1 to its number of devices, ",
                     plan.cluster.device_count()));
  }
  return absl::OkStatus();
}

class Reader {
 public:
  absl::StatusOr<Plan> Read(const Json& json) {
    if (json.value("format", Json()) != Json(kFormat)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a plan of version ", json.value("format", Json()).dump(),
          "; this is ", kFormat, ": plan again with this version"));
    }
    MW_ASSIGN_OR_RETURN(Plan plan, ReadLayouts(json.at("layouts")));
    plan.module_name = json.at("module").get<std::string>();
    for (const auto& [key, into] :
         {std::pair("fingerprint", &plan.fingerprint),
          std::pair("step_fingerprint", &plan.step_fingerprint)}) {
      if (!absl::SimpleHexAtoi(json.at(key).get<std::string>(), into)) {
        return absl::InvalidArgumentError(
            absl::StrCat("its ", key, " is no number"));
      }
    }
    MW_RETURN_IF_ERROR(ReadTask(json, plan));
    if (json.contains("pipeline")) {
      MW_ASSIGN_OR_RETURN(
          plan.pipeline,
          ReadPipeline(json.at("pipeline"), std::ssize(plan.layouts)));
    }
    MW_RETURN_IF_ERROR(ReadTensors(json.at("tensors").at("parameters"), plan,
                                   plan.tensors.parameters));
    MW_RETURN_IF_ERROR(ReadTensors(json.at("tensors").at("outputs"), plan,
                                   plan.tensors.outputs));
    MW_RETURN_IF_ERROR(ReadCollectives(json.at("collectives"), plan));
    MW_RETURN_IF_ERROR(ReadPrediction(json, plan));
    if (json.contains("measured")) {
      MW_RETURN_IF_ERROR(ReadMeasurement(json.at("measured"), plan));
    }
    for (const Json& one : json.at("alternatives")) {
      MW_ASSIGN_OR_RETURN(const Recompute recompute, ReadRecompute(one));
      plan.alternatives.push_back(
          {one.at("mesh").get<std::string>(),
           one.at("micro_batches").get<int64_t>(), one.value("stages", 1),
           recompute, one.at("seconds").get<double>(),
           one.at("bound").get<double>(), one.at("why_not").get<std::string>(),
           one.value("predicted_seconds", 0.0)});
    }
    if (json.contains("whole")) ReadWhole(json.at("whole"), plan);
    plan.notes = json.at("notes").get<std::vector<std::string>>();
    return plan;
  }

 private:
  // A plan with these layouts only.
  static absl::StatusOr<Plan> ReadLayouts(const Json& json) {
    if (!json.is_array() || json.empty()) {
      return absl::InvalidArgumentError("the plan has no layouts");
    }
    std::vector<PlannedLayout> layouts;
    for (const Json& one : json) {
      MW_ASSIGN_OR_RETURN(PlannedLayout layout, ReadLayout(one));
      layouts.push_back(std::move(layout));
    }
    Plan plan(layouts.front());
    plan.layouts = std::move(layouts);
    return plan;
  }

  static absl::Status ReadTensors(const Json& json, const Plan& plan,
                                  std::vector<PlannedTensor>& tensors) {
    for (const Json& one : json) {
      PlannedTensor tensor;
      tensor.name = one.at("name").get<std::string>();
      tensor.dimensions = one.at("dimensions").get<std::vector<int64_t>>();
      const std::string type = one.at("type").get<std::string>();
      const std::optional<ElementType> known = ParseElementType(type);
      if (!known.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "its tensor ", tensor.name, " has no known type: ", type));
      }
      tensor.type = *known;
      tensor.layout = one.value("layout", 0);
      if (tensor.layout < 0 || tensor.layout >= std::ssize(plan.layouts)) {
        return absl::InvalidArgumentError(
            absl::StrCat("its tensor ", tensor.name, " has layout ",
                         tensor.layout, " of ", plan.layouts.size()));
      }
      MW_ASSIGN_OR_RETURN(
          tensor.sharding,
          ParseSharding(one.at("sharding").get<std::string>(),
                        tensor.dimensions, plan.layouts[tensor.layout].mesh));
      tensors.push_back(std::move(tensor));
    }
    return absl::OkStatus();
  }

  static absl::Status ReadCollectives(const Json& json, Plan& plan) {
    for (const Json& one : json) {
      const std::string kind = one.at("kind").get<std::string>();
      const Opcode opcode = ParseOpcode(kind);
      if (opcode == Opcode::kUnknown) {
        return absl::InvalidArgumentError(
            absl::StrCat("it lists a collective of unknown kind: ", kind));
      }
      plan.collectives.push_back(
          {opcode, one.at("axes").get<std::string>(),
           one.at("tensor").get<std::string>(),
           one.at("devices").get<int64_t>(), one.at("bytes").get<int64_t>(),
           one.at("wire_bytes").get<double>(), one.at("count").get<double>()});
    }
    return absl::OkStatus();
  }

  static absl::Status ReadPrediction(const Json& json, Plan& plan) {
    const Json& predicted = json.at("predicted");
    MW_ASSIGN_OR_RETURN(
        const Origin origin,
        OneOf(predicted.at("origin"), "origin of rates",
              {Origin::kAssumed, Origin::kCalibrated, Origin::kProfiled}));
    plan.predicted = {
        .step_seconds = predicted.at("step_seconds").get<double>(),
        .compute_seconds = predicted.at("compute_seconds").get<double>(),
        .comm_seconds = predicted.at("comm_seconds").get<double>(),
        .exposed_comm_seconds =
            predicted.at("exposed_comm_seconds").get<double>(),
        .apply_seconds = predicted.value("apply_seconds", 0.0),
        .bubble_seconds = predicted.value("bubble_seconds", 0.0),
        .search_seconds = predicted.value("search_seconds", 0.0),
        .comm_bytes = predicted.at("comm_bytes").get<double>(),
        .peak_bytes = predicted.at("peak_bytes").get<int64_t>(),
        .origin = origin};
    plan.gap = json.at("bound").at("gap").get<double>();
    return absl::OkStatus();
  }

  static void ReadWhole(const Json& json, Plan& plan) {
    for (const Json& one : json) {
      plan.whole.push_back(
          {.target = one.at("target").get<std::string>(),
           .name = one.at("name").get<std::string>(),
           .count = one.at("count").get<double>(),
           .seconds = one.at("seconds").get<double>(),
           .even_seconds = one.at("even_seconds").get<double>(),
           .gathered_bytes = one.at("gathered_bytes").get<double>(),
           .gather_seconds = one.at("gather_seconds").get<double>(),
           .rule = one.at("rule").get<std::string>(),
           .advice = one.at("advice").get<std::string>()});
    }
  }

  static absl::Status ReadMeasurement(const Json& json, Plan& plan) {
    plan.measured = {.step_seconds = json.at("step_seconds").get<double>()};
    for (const Json& one : json.at("others")) {
      MW_ASSIGN_OR_RETURN(const Recompute recompute, ReadRecompute(one));
      plan.measured->others.push_back(
          {one.at("mesh").get<std::string>(),
           one.at("micro_batches").get<int64_t>(), recompute,
           one.at("predicted_seconds").get<double>(),
           one.at("step_seconds").get<double>()});
    }
    return absl::OkStatus();
  }
};

Json MeasurementJson(const Measurement& measured) {
  Json others = Json::array();
  for (const Measurement::Other& one : measured.others) {
    others.push_back({{"mesh", one.mesh},
                      {"micro_batches", one.micro_batches},
                      {"recompute", std::string(Name(one.recompute))},
                      {"predicted_seconds", one.predicted_seconds},
                      {"step_seconds", one.step_seconds}});
  }
  return {{"step_seconds", measured.step_seconds}, {"others", others}};
}

Json WholeJson(const std::vector<WholeOpCost>& whole) {
  Json json = Json::array();
  for (const WholeOpCost& one : whole) {
    json.push_back({{"target", one.target},
                    {"name", one.name},
                    {"count", one.count},
                    {"seconds", one.seconds},
                    {"even_seconds", one.even_seconds},
                    {"gathered_bytes", one.gathered_bytes},
                    {"gather_seconds", one.gather_seconds},
                    {"rule", one.rule},
                    {"advice", one.advice}});
  }
  return json;
}

}  // namespace

std::string ToJson(const Plan& plan, const PlanJsonOptions& options) {
  Json parameters = Json::array();
  Json outputs = Json::array();
  for (const PlannedTensor& tensor : plan.tensors.parameters) {
    parameters.push_back(
        DimensionsJson(tensor.sharding, plan.layouts[tensor.layout].mesh));
  }
  for (const PlannedTensor& tensor : plan.tensors.outputs) {
    outputs.push_back(
        DimensionsJson(tensor.sharding, plan.layouts[tensor.layout].mesh));
  }
  Json collectives = Json::array();
  for (const PlannedCollective& one : plan.collectives) {
    collectives.push_back({{"kind", std::string(Name(one.kind))},
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
                            {"recompute", std::string(Name(one.recompute))},
                            {"seconds", one.seconds},
                            {"bound", one.bound},
                            {"why_not", one.why_not},
                            {"predicted_seconds", one.predicted_seconds}});
  }
  const Prediction& p = plan.predicted;
  Json json = {
      {"format", kFormat},
      {"module", plan.module_name},
      {"fingerprint", absl::StrFormat("%016x", plan.fingerprint)},
      {"step_fingerprint", absl::StrFormat("%016x", plan.step_fingerprint)},
      {"strategy", std::string(Name(plan.strategy))},
      {"cluster", Json::parse(ToJson(plan.cluster), nullptr, false)},
      {"rates", Json::parse(ToJson(plan.rates), nullptr, false)},
      {"memory_bytes", plan.memory_bytes},
      {"steering", SteeringJson(plan.steering)},
      {"mesh", MeshJson(plan.mesh())},
      {"devices", plan.device_count()},
      {"stages", plan.stages()},
      {"micro_batches", plan.micro_batches},
      {"recompute", std::string(Name(plan.recompute))},
      {"schedule", plan.pipeline.has_value()
                       ? std::string(ToString(plan.pipeline->schedule))
                       : "none"},
      {"predicted",
       {{"step_seconds", p.step_seconds},
        {"compute_seconds", p.compute_seconds},
        {"comm_seconds", p.comm_seconds},
        {"exposed_comm_seconds", p.exposed_comm_seconds},
        {"apply_seconds", p.apply_seconds},
        {"bubble_seconds", p.bubble_seconds},
        {"search_seconds", p.search_seconds},
        {"comm_bytes", p.comm_bytes},
        {"peak_bytes", p.peak_bytes},
        {"origin", std::string(Name(p.origin))}}},
      {"bound", {{"gap", plan.gap}}},
      {"shardings", {{"parameters", parameters}, {"outputs", outputs}}},
      {"tensors",
       {{"parameters", TensorsJson(plan.tensors.parameters, plan)},
        {"outputs", TensorsJson(plan.tensors.outputs, plan)}}},
      {"collectives", collectives},
      {"alternatives", alternatives},
      {"whole", WholeJson(plan.whole)},
      {"notes", plan.notes}};
  if (plan.row_blocks > 1) json["row_blocks"] = plan.row_blocks;
  if (plan.measured.has_value()) {
    json["measured"] = MeasurementJson(*plan.measured);
  }
  if (plan.pipeline.has_value()) {
    json["pipeline"] = PipelineJson(*plan.pipeline);
  }
  Json layouts = Json::array();
  for (const PlannedLayout& layout : plan.layouts) {
    layouts.push_back(LayoutJson(layout, options.with_strategies));
  }
  json["layouts"] = layouts;
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
    // "[json.exception.out_of_range.403] key 'mesh' not found"
    absl::string_view what = error.what();
    what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan is damaged or was edited: ", what, "; plan again"));
  }
}

}  // namespace meshwright
