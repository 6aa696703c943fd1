#include "meshwright/annotations/infer_mesh.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/annotations/listed_for_test.h"
#include "meshwright/annotations/op_sharding_conversion.h"
#include "meshwright/annotations/testdata_for_test.h"
#include "meshwright/mesh/random_sharding_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

// A module whose parameters are annotated so.
Module Annotated(const std::vector<std::vector<int64_t>>& dimensions,
                 const std::vector<OpSharding>& shardings) {
  Module module("annotated");
  Computation* entry = module.AddComputation("main");
  for (size_t i = 0; i < shardings.size(); ++i) {
    entry
        ->AddParameter(Shape::Array(ElementType::kF32, dimensions[i]),
                       absl::StrCat("p", i))
        ->sharding.mutate() = shardings[i];
  }
  entry->Add(Opcode::kTuple, Shape::Tuple({}), {}, "root");
  module.set_entry(entry);
  return module;
}

std::string Error(const Module& module) {
  return std::string(InferMesh(module).status().message());
}

TEST(InferMeshTest, OfJaxModulesIsTheUsersUpToNames) {
  for (const std::string form : kForms) {
    const Module module = ReadTestModule("step." + form);
    const auto mesh = InferMesh(module);
    ASSERT_TRUE(mesh.ok()) << mesh.status();
    EXPECT_EQ(mesh->ToString(),
              form.starts_with("shardy") ? "data=4,model=2" : "a=4,b=2");
    EXPECT_TRUE(ReadAnnotations(module, *mesh).ok());
  }
}

TEST(InferMeshTest, HasAxesWhereAnnotationsDivide) {
  const auto infer = [](std::vector<OpSharding> shardings) {
    const auto mesh = InferMesh(Annotated(
        std::vector<std::vector<int64_t>>(shardings.size(), {24}), shardings));
    return mesh.ok() ? mesh->ToString() : std::string(mesh.status().message());
  };
  const OpSharding all = Listed({6}, {0, 1, 2, 3, 4, 5});
  OpSharding halves = Listed({2, 3}, {0, 1, 2, 3, 4, 5});
  halves.replicate_on_last_tile_dim = true;
  OpSharding minor = Listed({2, 3}, {0, 2, 4, 1, 3, 5});
  minor.replicate_on_last_tile_dim = true;
  EXPECT_EQ(infer({all}), "a=6");
  EXPECT_EQ(infer({all, halves}), "a=2,b=3");
  EXPECT_EQ(infer({minor, all}), "a=3,b=2");
  EXPECT_THAT(infer({halves, minor}), HasSubstr("no mesh of 6 devices"));
  EXPECT_THAT(infer({all, Listed({2}, {0, 1})}),
              HasSubstr("parameter 1 (p1) is split over 2 devices, parameter 0 "
                        "(p0) over 6"));
  EXPECT_THAT(infer({Listed({3}, {0, 0, 1})}), HasSubstr("each of 3 devices"));
}

TEST(InferMeshTest, NeedsAnAnnotationThatSplits) {
  EXPECT_EQ(InferMesh(Annotated({{8}}, {OpSharding()})).status().code(),
            absl::StatusCode::kNotFound);
  OpSharding named;
  named.kind = OpSharding::Kind::kTiled;
  named.unknown_fields = "x";
  EXPECT_THAT(Error(Annotated({{8}}, {named})), HasSubstr("no tiles"));
}

TEST(InferMeshTest, ReadsShardyMeshesWrittenInPlace) {
  Module module = Annotated({{8}, {8}}, {OpSharding(), OpSharding()});
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  parameters[0]->frontend_attributes["xla.sdy.sharding"] =
      "#sdy.sharding<mesh<[\"x\"=2, \"y\"=2]>, [{\"x\"}]>";
  EXPECT_EQ(InferMesh(module)->ToString(), "x=2,y=2");
}

// Random shardings on a mesh are annotations that some mesh expresses.
TEST(InferMeshTest, FindsAMeshForRandomShardings) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomSharding random(seed);
    const Mesh mesh = random.NextMesh();
    std::vector<std::vector<int64_t>> dimensions;
    std::vector<OpSharding> shardings;
    bool any_tiled = false;
    for (int i = 0; i < 3; ++i) {
      const Sharding sharding = random.Next(mesh);
      const auto annotation = ToOpSharding(sharding, mesh);
      if (!annotation.ok()) continue;
      dimensions.push_back(GlobalDimensions(sharding));
      shardings.push_back(*annotation);
      any_tiled |= annotation->kind == OpSharding::Kind::kTiled;
    }
    const Module module = Annotated(dimensions, shardings);
    const auto found = InferMesh(module);
    // With devices out of order there may be no mesh in any of the orders
    // that are tried.
    if (!mesh.device_ids().empty()) continue;
    ASSERT_EQ(found.ok(), any_tiled) << found.status() << " " << seed;
    if (!any_tiled) continue;
    EXPECT_TRUE(ReadAnnotations(module, *found).ok());
    EXPECT_LE(found->axes().size(), mesh.sub_axes().size());
  }
}

TEST(InferMeshTest, TakesTheOrderOfDevicesFromAList) {
  const std::vector<int64_t> order = {0, 3, 1, 2};
  OpSharding rows = Listed({2, 2}, order);
  rows.replicate_on_last_tile_dim = true;
  const auto mesh =
      InferMesh(Annotated({{8}, {8, 8}}, {rows, Listed({2, 2}, order)}));
  ASSERT_TRUE(mesh.ok()) << mesh.status();
  EXPECT_EQ(mesh->ToString(), "a=2,b=2");
  EXPECT_EQ(mesh->device_ids(), order);
}

}  // namespace
}  // namespace meshwright
