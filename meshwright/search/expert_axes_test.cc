#include "meshwright/search/expert_axes.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

struct AxesCase {
  std::string name;
  Expert expert;
  std::string mesh;
  std::string want;  // Of batch, state, expert, tensor and sequence.
  std::optional<int32_t> batch_axis;
};

std::string NamesOf(const Mesh& mesh, const std::vector<int32_t>& axes) {
  return absl::StrJoin(axes, "+", [&](std::string* out, int32_t axis) {
    out->append(mesh.axes()[axis].name);
  });
}

class AxesOfTest : public testing::TestWithParam<AxesCase> {};

TEST_P(AxesOfTest, FollowsNamesAndOrder) {
  const AxesCase& one = GetParam();
  const Mesh mesh = *Mesh::Parse(one.mesh);
  const ExpertAxes axes = AxesOf(one.expert, mesh, one.batch_axis);
  std::vector<std::string> all;
  for (const auto& [what, of] :
       {std::pair("batch", axes.batch), std::pair("state", axes.state),
        std::pair("expert", axes.expert), std::pair("tensor", axes.tensor),
        std::pair("sequence", axes.sequence)}) {
    if (!of.empty()) all.push_back(absl::StrCat(what, " ", NamesOf(mesh, of)));
  }
  EXPECT_EQ(absl::StrJoin(all, ", "), one.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, AxesOfTest,
    testing::ValuesIn<AxesCase>({
        {"OwnNames", Expert::kMegatron, "data=4,model=2",
         "batch data, tensor model"},
        {"AnyOrder", Expert::kMegatron, "model=4,data=2",
         "batch data, tensor model"},
        {"MegatronOnOneTensorAxis", Expert::kMegatron, "tp=8", "tensor tp"},
        {"MegatronOnOneOpenAxis", Expert::kMegatron, "x=8", "tensor x"},
        {"MegatronOnOneBatchAxis", Expert::kMegatron, "data=8", "batch data"},
        {"MegatronOnOpenAxes", Expert::kMegatron, "x=4,y=2",
         "batch x, tensor y"},
        {"MegatronBesideABatchAxis", Expert::kMegatron, "x=4,dp=2",
         "batch dp, tensor x"},
        {"MegatronWithFsdp", Expert::kMegatron, "data=2,fsdp=2,tensor=2",
         "batch data+fsdp, state fsdp, tensor tensor"},
        {"DataParallelOnATensorAxis", Expert::kDp, "model=8", "batch model"},
        {"DataParallelOnAnOpenAxis", Expert::kDp, "x=8", "batch x"},
        {"DataParallelReplicatesOverFsdp", Expert::kDp, "data=2,fsdp=4",
         "batch data+fsdp"},
        {"DataParallelWithExperts", Expert::kDp, "data=2,expert=4",
         "batch data+expert, expert expert"},
        {"ZeroOnItsOwnAxis", Expert::kZero3, "fsdp=8",
         "batch fsdp, state fsdp"},
        {"HybridSharding", Expert::kZero3, "replica=2,fsdp=4",
         "batch replica+fsdp, state fsdp"},
        {"ZeroOnOpenAxes", Expert::kZero2, "x=2,y=4",
         "batch x, state x, tensor y"},
        {"SequenceSharesTheTensorAxis", Expert::kSequence, "data=2,tp=4",
         "batch data, tensor tp, sequence tp"},
        {"SequenceHasItsOwnAxis", Expert::kSequence, "data=2,seq=2,tp=2",
         "batch data, tensor tp, sequence seq"},
        {"ContextBesideData", Expert::kDp, "data=2,context=2",
         "batch data, sequence context"},
        {"WordsOfNames", Expert::kMegatron, "dcn_data=2,ici_fsdp=2,model2=2",
         "batch dcn_data+ici_fsdp, state ici_fsdp, tensor model2"},
        {"LettersAreNoWord", Expert::kMegatron, "database=2,dp=2",
         "batch dp, tensor database"},
        {"TheUserChoseTheBatchAxis", Expert::kMegatron, "data=2,model=4",
         "batch model, tensor data", 1},
    }),
    [](const auto& test) { return test.param.name; });

TEST(DividingAxesTest, LeavesOutWhatDoesNotDivide) {
  const Mesh mesh = *Mesh::Parse("a=2,b=3,c=2");
  EXPECT_EQ(DividingAxes(mesh, {0, 1, 2}, 12), mesh.AllSubAxes());
  AxisList both = mesh.SubAxes(0);
  both.Append(mesh.SubAxes(2));
  EXPECT_EQ(DividingAxes(mesh, {0, 1, 2}, 4), both);
  EXPECT_EQ(DividingAxes(mesh, {0, 1, 2}, 5), AxisList());
  EXPECT_EQ(DividingAxes(mesh, {0, 1, 2}, 0), AxisList());
}

}  // namespace
}  // namespace meshwright
