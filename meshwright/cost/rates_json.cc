#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/rates.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

struct NamedFigure {
  const char* name;
  Figure Rates::*member;
};
constexpr NamedFigure kFigures[] = {
    {"convolution_share", &Rates::convolution_share},
    {"strided_share", &Rates::strided_share},
    {"vector_flops", &Rates::vector_flops},
    {"transcendentals", &Rates::transcendentals},
    {"op_seconds", &Rates::op_seconds},
    {"argument_seconds", &Rates::argument_seconds},
    {"overlap", &Rates::overlap}};
// All readers below return an error on malformed input; files that we wrote are
// well-formed.
constexpr NamedFigure kNewer[] = {
    {"batch_together", &Rates::batch_together},
    {"further_array", &Rates::further_array},
    {"unaligned_share", &Rates::unaligned_share},
    {"launch_seconds", &Rates::launch_seconds},
    {"graph_seconds", &Rates::graph_seconds},
    {"library_seconds", &Rates::library_seconds},
    {"convolution_seconds", &Rates::convolution_seconds},
    {"column_step_seconds", &Rates::column_step_seconds},
    {"window_gaps", &Rates::window_gaps}};

absl::Status BadRates(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("rates: ", what));
}

Json Write(const Curve& curve) {
  Json points = Json::array();
  for (const Curve::Point& point : curve.points) {
    points.push_back({point.size, point.value});
  }
  return {{"points", points}, {"origin", Name(curve.origin)}};
}

Json Write(const LevelRates& level) {
  Json json = {{"origin", Name(level.origin)}};
  for (const MoveKind kind : kCollectiveMoves) {
    Json rows = Json::array();
    for (const CollectiveRate& rate : level.kinds[KindIndex(kind)]) {
      rows.push_back({{"devices", rate.devices},
                      {"latency", rate.latency},
                      {"per_byte", rate.per_byte}});
    }
    json[std::string(Name(kind))] = std::move(rows);
  }
  return json;
}

// Every read below fails by these; a file of ours never does.
absl::StatusOr<double> Number(const Json& json, absl::string_view what) {
  if (!json.is_number() || !std::isfinite(json.get<double>()) ||
      json.get<double>() < 0) {
    return BadRates(absl::StrCat(what, " must be a number, not negative"));
  }
  return json.get<double>();
}

absl::StatusOr<const Json*> Member(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) {
    return BadRates(absl::StrCat("no \"", key, "\""));
  }
  return &json.at(key);
}

absl::StatusOr<Origin> ReadOrigin(const Json& json) {
  MW_ASSIGN_OR_RETURN(const Json* text, Member(json, "origin"));
  for (const Origin origin :
       {Origin::kAssumed, Origin::kCalibrated, Origin::kProfiled}) {
    if (text->is_string() && text->get<std::string>() == Name(origin)) {
      return origin;
    }
  }
  return BadRates("an \"origin\" is assumed, calibrated or profiled");
}

absl::StatusOr<Curve> ReadCurve(const Json& json, absl::string_view what) {
  Curve curve;
  MW_ASSIGN_OR_RETURN(curve.origin, ReadOrigin(json));
  MW_ASSIGN_OR_RETURN(const Json* points, Member(json, "points"));
  if (!points->is_array()) return BadRates(absl::StrCat(what, ": no list"));
  for (const Json& point : *points) {
    if (!point.is_array() || point.size() != 2) {
      return BadRates(absl::StrCat(what, ": a point is a size and a value"));
    }
    Curve::Point& read = curve.points.emplace_back();
    MW_ASSIGN_OR_RETURN(read.size, Number(point[0], what));
    MW_ASSIGN_OR_RETURN(read.value, Number(point[1], what));
    const size_t count = curve.points.size();
    if (!(read.size > 0 && read.value > 0) ||
        (count > 1 && curve.points[count - 2].size >= read.size)) {
      return BadRates(absl::StrCat(what, ": sizes must ascend above 0"));
    }
  }
  if (curve.points.empty())
    return BadRates(absl::StrCat(what, " has no points"));
  return curve;
}

absl::StatusOr<std::vector<CollectiveRate>> ReadKind(const Json& json,
                                                     absl::string_view what) {
  std::vector<CollectiveRate> rates;
  if (!json.is_array()) return BadRates(absl::StrCat(what, ": no list"));
  for (const Json& row : json) {
    CollectiveRate& rate = rates.emplace_back();
    MW_ASSIGN_OR_RETURN(const Json* devices, Member(row, "devices"));
    MW_ASSIGN_OR_RETURN(const Json* latency, Member(row, "latency"));
    MW_ASSIGN_OR_RETURN(const Json* per_byte, Member(row, "per_byte"));
    if (!devices->is_number_integer() || devices->get<int64_t>() < 2 ||
        (rates.size() > 1 &&
         rates[rates.size() - 2].devices >= devices->get<int64_t>())) {
      return BadRates(absl::StrCat(what, ": \"devices\" must ascend from 2"));
    }
    rate.devices = devices->get<int64_t>();
    MW_ASSIGN_OR_RETURN(rate.latency, Number(*latency, what));
    MW_ASSIGN_OR_RETURN(rate.per_byte, Number(*per_byte, what));
  }
  return rates;
}

absl::StatusOr<LevelRates> ReadLevel(const Json& json) {
  LevelRates level;
  MW_ASSIGN_OR_RETURN(level.origin, ReadOrigin(json));
  for (const MoveKind kind : kCollectiveMoves) {
    const std::string name(Name(kind));
    MW_ASSIGN_OR_RETURN(const Json* rows, Member(json, name.c_str()));
    MW_ASSIGN_OR_RETURN(level.kinds[KindIndex(kind)], ReadKind(*rows, name));
  }
  return level;
}

}  // namespace

std::string ToJson(const Rates& rates) {
  Json json = {{"device", rates.device}};
  for (const auto& [type, curve] : rates.matmul) {
    json["matmul"][std::string(Name(type))] = Write(curve);
  }
  json["memory"] = Write(rates.memory);
  if (!rates.window_elements.points.empty()) {
    json["window_elements"] = Write(rates.window_elements);
  }
  const auto add = [&](const NamedFigure& figure) {
    const Figure& value = rates.*figure.member;
    json[figure.name] = {{"value", value.value},
                         {"origin", Name(value.origin)}};
  };
  for (const NamedFigure& figure : kFigures) add(figure);
  for (const NamedFigure& figure : kNewer) add(figure);
  json["levels"] = Json::array();
  for (const LevelRates& level : rates.levels) {
    json["levels"].push_back(Write(level));
  }
  return json.dump();
}

absl::StatusOr<Rates> ParseRates(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return BadRates("no JSON object");
  Rates rates;
  MW_ASSIGN_OR_RETURN(const Json* device, Member(json, "device"));
  if (!device->is_string()) return BadRates("\"device\" must be a string");
  rates.device = device->get<std::string>();
  MW_ASSIGN_OR_RETURN(const Json* matmul, Member(json, "matmul"));
  for (const auto& [name, curve] : matmul->items()) {
    const std::optional<ElementType> type = ParseElementType(name);
    if (!type) return BadRates(absl::StrCat("no element type \"", name, "\""));
    MW_ASSIGN_OR_RETURN(rates.matmul[*type], ReadCurve(curve, name));
  }
  MW_ASSIGN_OR_RETURN(const Json* memory, Member(json, "memory"));
  MW_ASSIGN_OR_RETURN(rates.memory, ReadCurve(*memory, "memory"));
  if (json.contains("window_elements")) {
    MW_ASSIGN_OR_RETURN(rates.window_elements,
                        ReadCurve(json["window_elements"], "window_elements"));
  }
  const auto read = [&](const NamedFigure& figure) -> absl::Status {
    MW_ASSIGN_OR_RETURN(const Json* found, Member(json, figure.name));
    MW_ASSIGN_OR_RETURN(const Json* value, Member(*found, "value"));
    Figure& to = rates.*figure.member;
    MW_ASSIGN_OR_RETURN(to.value, Number(*value, figure.name));
    MW_ASSIGN_OR_RETURN(to.origin, ReadOrigin(*found));
    return absl::OkStatus();
  };
  for (const NamedFigure& figure : kFigures) MW_RETURN_IF_ERROR(read(figure));
  for (const NamedFigure& figure : kNewer) {
    if (json.contains(figure.name)) MW_RETURN_IF_ERROR(read(figure));
  }
  MW_ASSIGN_OR_RETURN(const Json* levels, Member(json, "levels"));
  if (!levels->is_array()) return BadRates("\"levels\" must be a list");
  for (const Json& level : *levels) {
    MW_ASSIGN_OR_RETURN(rates.levels.emplace_back(), ReadLevel(level));
  }
  return rates;
}

}  // namespace meshwright
