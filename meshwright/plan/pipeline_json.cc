#include "meshwright/plan/pipeline_json.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

constexpr int32_t kMaxPieces = 1 << 20;

Json StageJson(const PlannedPipeline::Stage& stage) {
  Json json = {{"forward_seconds", stage.forward},
               {"input_grad_seconds", stage.input_grad},
               {"weight_grad_seconds", stage.weight_grad},
               {"apply_seconds", stage.apply},
               {"held_bytes", stage.held_bytes},
               {"kept_bytes", stage.kept_bytes},
               {"fixed_bytes", stage.fixed_bytes},
               {"room_bytes", stage.room_bytes},
               {"peak_bytes", stage.peak_bytes}};
  if (stage.memory_times != 1) json["memory_times"] = stage.memory_times;
  return json;
}

PlannedPipeline::Stage ReadStage(const Json& json) {
  return {.forward = json.at("forward_seconds").get<double>(),
          .input_grad = json.at("input_grad_seconds").get<double>(),
          .weight_grad = json.at("weight_grad_seconds").get<double>(),
          .apply = json.at("apply_seconds").get<double>(),
          .held_bytes = json.at("held_bytes").get<int64_t>(),
          .kept_bytes = json.at("kept_bytes").get<int64_t>(),
          .fixed_bytes = json.at("fixed_bytes").get<int64_t>(),
          .room_bytes = json.value("room_bytes", int64_t{0}),
          .peak_bytes = json.at("peak_bytes").get<int64_t>(),
          .memory_times = json.value("memory_times", 1.0)};
}

Json EdgeJson(const PlannedPipeline::Edge& edge) {
  return {{"from", int{edge.from}},
          {"to", int{edge.to}},
          {"forward_seconds", edge.forward_seconds},
          {"backward_seconds", edge.backward_seconds},
          {"forward_bytes", edge.forward_bytes},
          {"backward_bytes", edge.backward_bytes}};
}

PlannedPipeline::Edge ReadEdge(const Json& json) {
  return {.from = StageId(json.at("from").get<int32_t>()),
          .to = StageId(json.at("to").get<int32_t>()),
          .forward_seconds = json.at("forward_seconds").get<double>(),
          .backward_seconds = json.at("backward_seconds").get<double>(),
          .forward_bytes = json.at("forward_bytes").get<int64_t>(),
          .backward_bytes = json.at("backward_bytes").get<int64_t>()};
}

// By rank.
absl::StatusOr<std::vector<int32_t>> ReadLayoutOfRank(const Json& json,
                                                      int32_t ranks,
                                                      int64_t layouts) {
  auto layout_of_rank = json.at("layout_of_rank").get<std::vector<int32_t>>();
  if (std::ssize(layout_of_rank) != ranks) {
    return absl::InvalidArgumentError(absl::StrCat("layouts are those of ",
                                                   layout_of_rank.size(),
                                                   " ranks, not of ", ranks));
  }
  for (const int32_t layout : layout_of_rank) {
    if (layout >= 0 && layout < layouts) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a rank has layout ", layout, " of ", layouts));
  }
  return layout_of_rank;
}

}  // namespace

Json PipelineJson(const PlannedPipeline& pipeline) {
  Json stages = Json::array();
  for (const auto& stage : pipeline.stages) stages.push_back(StageJson(stage));
  Json edges = Json::array();
  for (const auto& edge : pipeline.edges) edges.push_back(EdgeJson(edge));
  return {{"ranks", pipeline.timetable.ranks()},
          {"layout_of_rank", pipeline.layout_of_rank},
          {"loop_pieces", pipeline.loop_pieces},
          {"stages", stages},
          {"edges", edges},
          {"apply_after_all", pipeline.apply_after_all},
          {"bubble_share", pipeline.bubble_share},
          {"cut_gap", pipeline.cut_gap},
          {"schedule", std::string(ToString(pipeline.schedule))},
          {"timetable", ToCsv(pipeline.timetable)},
          {"forward", pipeline.forward}};
}

absl::StatusOr<PlannedPipeline> ReadPipeline(const Json& json,
                                             int64_t layouts) {
  PlannedPipeline pipeline;
  for (const Json& stage : json.at("stages")) {
    pipeline.stages.push_back(ReadStage(stage));
    const double times = pipeline.stages.back().memory_times;
    if (!(times > 0 && std::isfinite(times))) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory_times of a stage must be above 0, not ", times));
    }
  }
  const auto count = static_cast<int64_t>(pipeline.stages.size());
  const int32_t ranks = json.at("ranks").get<int32_t>();
  if (ranks < 1 || ranks > count) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " stages are on ", ranks, " ranks"));
  }
  MW_ASSIGN_OR_RETURN(pipeline.timetable,
                      ParseCsv(json.at("timetable").get<std::string>()));
  if (pipeline.timetable.stages() != count ||
      pipeline.timetable.ranks() != ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan has ", count, " stages on ", ranks, " ranks, its timetable ",
        pipeline.timetable.stages(), " on ", pipeline.timetable.ranks()));
  }
  pipeline.loop_pieces = json.value("loop_pieces", static_cast<int32_t>(count));
  if (pipeline.loop_pieces < 1 || pipeline.loop_pieces > kMaxPieces) {
    return absl::InvalidArgumentError(
        absl::StrCat("loops are in ", pipeline.loop_pieces, " pieces"));
  }
  MW_ASSIGN_OR_RETURN(pipeline.layout_of_rank,
                      ReadLayoutOfRank(json, ranks, layouts));
  for (const Json& edge : json.at("edges")) {
    pipeline.edges.push_back(ReadEdge(edge));
    const PlannedPipeline::Edge& read = pipeline.edges.back();
    if (read.from < 0 || read.from >= read.to || read.to >= count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an edge goes from stage ", int{read.from}, " to ", int{read.to}));
    }
  }
  pipeline.apply_after_all = json.at("apply_after_all").get<bool>();
  pipeline.bubble_share = json.at("bubble_share").get<double>();
  pipeline.cut_gap = json.at("cut_gap").get<double>();
  MW_ASSIGN_OR_RETURN(
      pipeline.schedule,
      ParseScheduleKind(json.at("schedule").get<std::string>()));
  pipeline.forward =
      json.at("forward").get<std::vector<std::vector<std::string>>>();
  if (std::ssize(pipeline.forward) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("forward passes are those of ", pipeline.forward.size(),
                     " stages, not of ", count));
  }
  return pipeline;
}

}  // namespace meshwright
