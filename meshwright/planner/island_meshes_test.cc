#include "meshwright/planner/island_meshes.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x f32[8,16] -> a region for each mesh, which leaves it as it is and has its
// rows split over the mesh's first axis.
Module Regions(const std::vector<std::string>& meshes) {
  Module module("regions");
  const auto shape = [](int64_t parts) {
    return Shape::Array(ElementType::kF32, {8 / parts, 16});
  };
  std::vector<Computation*> bodies;
  for (const std::string& mesh : meshes) {
    Computation* body = module.AddComputation("body" + mesh);
    body->set_root(body->AddParameter(shape(Mesh::Parse(mesh)->axes()[0].size),
                                      "rows_" + mesh));
    bodies.push_back(body);
  }
  Computation* entry = module.AddComputation("main");
  Instruction* x = entry->AddParameter(shape(1), "x");
  for (size_t i = 0; i < meshes.size(); ++i) {
    x = entry->Add(Opcode::kCustomCall, shape(1), {x}, "region" + meshes[i]);
    x->called = {bodies[i]};
    x->attributes.mutate().custom_call_target = kIslandTarget;
    const std::string split =
        "[" + Mesh::Parse(meshes[i])->axes()[0].name + ",-]";
    x->attributes.mutate().backend_config =
        meshes[i] + ": " + split + " -> " + split;
  }
  entry->set_root(x);
  module.set_entry(entry);
  return module;
}

struct Tried {
  absl::Status status;
  std::vector<std::string> meshes;
};

// What is left of `meshes` on as many devices.
Tried RegionMeshesOn(const char* cluster, const Module& module,
                     const std::vector<std::string>& meshes,
                     const PlanRequest& request = {}) {
  std::vector<Mesh> list;
  for (const std::string& mesh : meshes) list.push_back(*Mesh::Parse(mesh));
  Tried tried{.status = KeepIslandMeshes(module, *ParseClusterSpec(cluster, {}),
                                         request, list)};
  for (const Mesh& mesh : list) tried.meshes.push_back(mesh.ToString());
  return tried;
}

TEST(KeepIslandMeshesTest, WithoutRegionsAllStay) {
  const Tried tried = RegionMeshesOn("h200:8", Regions({}), {"x=8", "x=3"});
  EXPECT_EQ(tried.status, absl::OkStatus());
  EXPECT_THAT(tried.meshes, ElementsAre("x=8", "x=3"));
}

TEST(KeepIslandMeshesTest, TheRegionsOwnComesFirstThenThoseWithItsAxes) {
  const Tried tried = RegionMeshesOn("h200:8", Regions({"data=2,model=4"}),
                                     {"x=8", "x=4,y=2", "x=1,y=1", "x=2,y=2"});
  EXPECT_EQ(tried.status, absl::OkStatus());
  EXPECT_THAT(tried.meshes, ElementsAre("data=2,model=4", "x=8", "x=4,y=2"));
}

TEST(KeepIslandMeshesTest, DevicesThatItLeavesAreAnAxisInFront) {
  const Tried some =
      RegionMeshesOn("h200:16", Regions({"data=2,model=4"}), {"x=16"});
  EXPECT_THAT(some.meshes, ElementsAre("rest=2,data=2,model=4", "x=16"));
  // Names stay different.
  const Tried named =
      RegionMeshesOn("h200:16", Regions({"rest=2,model=4"}), {"x=3"});
  EXPECT_THAT(named.meshes, ElementsAre("rest_=2,rest=2,model=4"));
  // 12 are no multiple of 8.
  const Tried uneven =
      RegionMeshesOn("h200:12", Regions({"data=2,model=4"}), {"x=3"});
  EXPECT_THAT(uneven.meshes, ElementsAre("data=2,model=4"));
}

TEST(KeepIslandMeshesTest, EveryRegionNeedsItsAxes) {
  const Tried tried = RegionMeshesOn("h200:8", Regions({"data=8", "model=4"}),
                                     {"x=2,y=2", "x=8"});
  // Four devices have no eighths.
  EXPECT_THAT(tried.meshes, ElementsAre("data=8", "rest=2,model=4", "x=8"));
}

TEST(KeepIslandMeshesTest, TheMeshThatIsAskedForIsTheOnlyOne) {
  const Module module = Regions({"data=2,model=4"});
  PlanRequest request;
  request.mesh = *Mesh::Parse("x=4,y=2");
  EXPECT_THAT(RegionMeshesOn("h200:8", module, {"x=4,y=2"}, request).meshes,
              ElementsAre("x=4,y=2"));
  request.mesh = *Mesh::Parse("x=2,y=2");
  const absl::Status status =
      RegionMeshesOn("h200:8", module, {"x=2,y=2"}, request).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("needs axes data=2,model=4, which the mesh x=2,y=2"));
}

TEST(KeepIslandMeshesTest, TooFewDevices) {
  const absl::Status status =
      RegionMeshesOn("h200:4", Regions({"data=2", "data=2,model=4"}), {"x=4"})
          .status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("needs 8 devices (data=2,model=4), the cluster has 4"));
}

// On the devices of a stage.
std::vector<std::string> StageMeshesOn(int64_t devices, const Module& module,
                                       const std::vector<std::string>& meshes) {
  std::vector<Mesh> list;
  for (const std::string& mesh : meshes) list.push_back(*Mesh::Parse(mesh));
  std::vector<std::string> left;
  for (const Mesh& mesh : IslandMeshesOfStage(module, devices, list)) {
    left.push_back(mesh.ToString());
  }
  return left;
}

TEST(IslandMeshesOfStageTest, TheRegionsOwnComesFirstOnAllItsDevices) {
  const Module module = Regions({"data=2,model=4"});
  EXPECT_THAT(StageMeshesOn(8, module, {"x=8", "x=4,y=2"}),
              ElementsAre("data=2,model=4", "x=8", "x=4,y=2"));
  EXPECT_THAT(StageMeshesOn(16, module, {"x=16"}),
              ElementsAre("rest=2,data=2,model=4", "x=16"));
  // Two of twelve would have eight.
  EXPECT_THAT(StageMeshesOn(12, module, {"x=12"}), ElementsAre());
  EXPECT_THAT(StageMeshesOn(4, module, {"x=4"}), ElementsAre());
  EXPECT_THAT(StageMeshesOn(4, Regions({}), {"x=4"}), ElementsAre("x=4"));
}

TEST(IslandMeshesOfStageTest, WhereThereIsNoneTheRegionIsNamed) {
  const absl::Status status = NoIslandMeshOfStage(
      Regions({"data=2", "data=2,model=4"}), *ParseClusterSpec("h200:8", {}),
      /*parts=*/2);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("regiondata=2,model=4 needs axes data=2,model=4, which "
                        "a stage of 4 of the 8 devices does not have"));
}

}  // namespace
}  // namespace meshwright
