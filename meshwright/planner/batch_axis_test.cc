#include "meshwright/planner/batch_axis.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/search/memory_points.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

std::vector<Mesh> MeshesOf(const std::vector<std::string>& texts) {
  std::vector<Mesh> meshes;
  for (const std::string& text : texts) meshes.push_back(*Mesh::Parse(text));
  return meshes;
}

// The tiny gpt's batch is a power of two.
class BatchAxisTest : public testing::Test {
 protected:
  const Module module_ = ReadTiny("gpt");
};

TEST_F(BatchAxisTest, EveryMeshIsKeptUnlessOneIsNamed) {
  std::vector<Mesh> meshes = MeshesOf({"x=3,y=2", "x=6"});
  EXPECT_TRUE(KeepBatchMeshes(module_, {}, meshes).ok());
  EXPECT_EQ(meshes.size(), 2u);
}

TEST_F(BatchAxisTest, MeshesAreKeptWhoseAxisDividesTheBatch) {
  std::vector<Mesh> meshes = MeshesOf({"x=3,y=2", "x=2,y=3", "x=6"});
  EXPECT_TRUE(KeepBatchMeshes(module_, {.batch_axis = "data"}, meshes).ok());
  EXPECT_EQ(meshes, MeshesOf({"x=2,y=3"}));
}

TEST_F(BatchAxisTest, AnAxisOfTheRequestedMeshIsFoundByName) {
  std::vector<Mesh> meshes = MeshesOf({"x=3,rows=2"});
  const PlanRequest request{.mesh = meshes[0], .batch_axis = "rows"};
  EXPECT_TRUE(KeepBatchMeshes(module_, request, meshes).ok());
  EXPECT_EQ(meshes.size(), 1u);
}

TEST_F(BatchAxisTest, TheTensorIsNamedIfNoMeshIsLeft) {
  std::vector<Mesh> meshes = MeshesOf({"x=3,y=2"});
  const absl::Status status =
      KeepBatchMeshes(module_, {.batch_axis = "data"}, meshes);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--batch-axis data"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("into 3 parts"));
}

TEST_F(BatchAxisTest, InputsArePinnedAlongIt) {
  const StepModel model =
      ModelStep(module_, FusionStyleFor(/*is_cpu=*/false), nullptr);
  const Mesh mesh = *Mesh::Parse("data=2,model=2");
  const PlanRequest request{.mesh = mesh, .batch_axis = "data"};
  Annotations pins;
  ASSERT_TRUE(PinBatch(request, model, mesh, pins).ok());
  int pinned = 0;
  for (const auto& pin : pins.parameters) {
    if (!pin.has_value()) continue;
    ++pinned;
    EXPECT_EQ(AxesOf(pin->sharding.dims[0]), mesh.SubAxes(0));
  }
  EXPECT_EQ(pinned, 2);  // Tokens and targets.
  // Pinned like that already; then along the other axis.
  EXPECT_TRUE(PinBatch(request, model, mesh, pins).ok());
  const absl::Status other =
      PinBatch({.mesh = mesh, .batch_axis = "model"}, model, mesh, pins);
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr("is pinned to"));
}

}  // namespace
}  // namespace meshwright
