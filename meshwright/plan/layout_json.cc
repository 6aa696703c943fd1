#include "meshwright/plan/layout_json.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

Json AxesJson(const AxisList& axes) {
  Json json = Json::array();
  for (const AxisId axis : axes) json.push_back(axis);
  return json;
}

// {"factors": 3, "split": [[factor, axes...], ...], "pending": {...}}
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

// Each strategy once, with the operations that have it.
Json StrategiesJson(const std::vector<PlannedStrategy>& strategies) {
  std::map<std::string, size_t> known;
  Json distinct = Json::array();
  for (const auto& [operation, strategy] : strategies) {
    Json json = StrategyJson(strategy);
    const auto [entry, is_new] =
        known.try_emplace(json.dump(), distinct.size());
    if (is_new) distinct.push_back(std::move(json));
    distinct[entry->second]["operations"].push_back(operation);
  }
  return distinct;
}

absl::StatusOr<Strategy> ReadStrategy(const Json& json, const Mesh& mesh) {
  const auto axis = [&](const Json& one) -> absl::StatusOr<AxisId> {
    const int64_t id = one.get<int64_t>();
    if (id < 0 || id >= static_cast<int64_t>(mesh.sub_axes().size())) {
      return absl::InvalidArgumentError(absl::StrCat("a strategy has axis ", id,
                                                     ", the mesh has ",
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

absl::StatusOr<std::vector<PlannedStrategy>> ReadStrategies(const Json& json,
                                                            const Mesh& mesh) {
  std::vector<PlannedStrategy> strategies;
  for (const Json& one : json) {
    MW_ASSIGN_OR_RETURN(const Strategy strategy, ReadStrategy(one, mesh));
    for (const Json& operation : one.at("operations")) {
      strategies.push_back({operation.get<std::string>(), strategy});
    }
  }
  return strategies;
}

}  // namespace

Json MeshJson(const Mesh& mesh) {
  Json json = Json::object();
  for (const MeshAxis& axis : mesh.axes()) json[axis.name] = axis.size;
  return json;
}

Json LayoutJson(const PlannedLayout& layout, bool with_strategies) {
  Json json = {{"mesh", MeshJson(layout.mesh)}};
  if (!with_strategies) return json;
  json["strategies"] = StrategiesJson(layout.strategies);
  json["moved"] = {{"apart", layout.moved_apart},
                   {"in_place", layout.moved_in_place}};
  return json;
}

absl::StatusOr<PlannedLayout> ReadLayout(const Json& json) {
  std::vector<MeshAxis> axes;
  for (const auto& [name, size] : json.at("mesh").items()) {
    axes.push_back({name, size.get<int64_t>()});
  }
  MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Create(std::move(axes)));
  PlannedLayout layout{.mesh = std::move(mesh)};
  MW_ASSIGN_OR_RETURN(layout.strategies,
                      ReadStrategies(json.at("strategies"), layout.mesh));
  const Json& moved = json.at("moved");
  layout.moved_apart = moved.at("apart").get<std::vector<std::string>>();
  layout.moved_in_place = moved.at("in_place").get<std::vector<std::string>>();
  return layout;
}

}  // namespace meshwright
