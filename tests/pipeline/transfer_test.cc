// Arrays that move between stages with different meshes.
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/staged_transfer.h"
#include "tests/pipeline/value_of.h"
#include "tests/rules/device_run.h"

namespace meshwright {
namespace {

Tensor Counted(const std::vector<int64_t>& dimensions) {
  Tensor tensor{.type = ElementType::kF32, .dimensions = dimensions};
  int64_t count = 1;
  for (const int64_t size : dimensions) count *= size;
  tensor.data.resize(count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(tensor.data.data() + i * sizeof(float), &value, sizeof(float));
  }
  return tensor;
}

struct MoveCase {
  const char* source;
  const char* from;
  const char* target;
  const char* to;
  std::vector<int64_t> dimensions;
};

void PrintTo(const MoveCase& test, std::ostream* out) {
  *out << test.source << " " << test.from << " to " << test.target << " "
       << test.to;
}

class MoveTest : public ::testing::TestWithParam<MoveCase> {};

TEST_P(MoveTest, ArrivesAsItWas) {
  const MoveCase& test = GetParam();
  Client* const client = ValueOf(OracleClient());
  const Mesh source = ValueOf(Mesh::Parse(test.source));
  const Mesh target = ValueOf(Mesh::Parse(test.target));
  const Sharding from =
      ValueOf(ParseSharding(test.from, test.dimensions, source));
  const Sharding to = ValueOf(ParseSharding(test.to, test.dimensions, target));
  const auto there =
      client->devices().subspan(source.device_count(), target.device_count());
  const Tensor tensor = Counted(test.dimensions);
  const ShardedArray array =
      ValueOf(Upload(tensor, from, {client, source, client->devices()}, 0));
  const Route route{
      .list = MakeSendList(from, source, to, target),
      .shape = Shape::Array(tensor.type, LocalDimensions(to, target))};
  TileMover mover(client);
  const ShardedArray moved = ValueOf(mover.Move(array, route, there));
  for (int64_t device = 0; device < target.device_count(); ++device) {
    EXPECT_EQ(&moved[device]->device(), there[device]);
  }
  EXPECT_EQ(CheckCopies(moved, to, target), absl::OkStatus());
  EXPECT_TRUE(ValueOf(Download(moved, to, target)) == tensor);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MoveTest,
    ::testing::ValuesIn<MoveCase>(
        {{"data=2", "[data, -]", "data=2", "[data, -]", {8, 6}},
         {"data=4", "[data, -]", "data=2", "[data, -]", {8, 6}},
         {"data=2", "[data, -]", "data=4", "[-, data]", {8, 12}},
         {"x=2,y=2", "[y, x]", "data=3", "[-, data]", {8, 6}},
         {"data=1", "[-, -]", "data=3", "[-, -]", {8, 6}},
         {"data=2", "[-, -]", "data=2", "[-, -]", {256, 128}},
         {"data=2", "[data, -]", "data=3", "[-, -]", {256, 129}},
         {"data=3", "[data, -]", "data=2", "[data, -]", {7, 2}},
         {"data=2", "[]", "data=3", "[]", {}}}));

}  // namespace
}  // namespace meshwright
