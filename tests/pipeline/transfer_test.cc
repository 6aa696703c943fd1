// Arrays that move between stages with different meshes.
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/runtime/courier.h"
#include "meshwright/state/shard_tensor.h"
#include "meshwright/wire/memory_wire.h"
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

// The devices of both stages, dealt out to workers in turn.
class MoveTest : public ::testing::TestWithParam<MoveCase> {
 protected:
  static constexpr StageId kFrom{0};
  static constexpr StageId kTo{1};

  // What a worker has of the devices.
  std::vector<OwnDevices> OwnOf(int worker, Client* client) const {
    std::vector<OwnDevices> own(2);
    for (StageId stage : {kFrom, kTo}) {
      OwnDevices& here = own[stage];
      for (size_t i = 0; i < devices_[stage].size(); ++i) {
        const bool is_here = devices_[stage][i].worker == worker;
        here.index_of.push_back(is_here ? static_cast<int32_t>(here.size())
                                        : -1);
        if (!is_here) continue;
        here.positions.push_back(static_cast<int64_t>(i));
        here.devices.push_back(client->devices()[devices_[stage][i].device]);
      }
    }
    return own;
  }

  // All that is given and got, by device of a stage.
  void Run(int workers, const std::vector<Tensor>& shards,
           std::vector<Tensor>& received) {
    Client* const client = ValueOf(OracleClient());
    int32_t next = 0;
    for (StageId stage : {kFrom, kTo}) {
      devices_[stage].clear();
      const size_t count = stage == kFrom ? shards.size() : received.size();
      for (size_t i = 0; i < count; ++i, ++next) {
        devices_[stage].push_back({next % workers, next});
      }
    }
    const auto wires = MakeMemoryWires(workers, absl::Seconds(30));
    std::vector<std::thread> threads;
    for (int worker = 0; worker < workers; ++worker) {
      threads.emplace_back([&, worker] {
        Carry(worker, wires[worker].get(), client, shards, received);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  void Carry(int worker, Wire* wire, Client* client,
             const std::vector<Tensor>& shards, std::vector<Tensor>& received) {
    const std::vector<OwnDevices> own = OwnOf(worker, client);
    TileMover mover(client);
    Shipper shipper(wire);
    Courier courier({.client = client,
                     .worker = worker,
                     .devices = &devices_,
                     .own = &own,
                     .routes = &routes_,
                     .mover = &mover,
                     .wire = wire,
                     .shipper = &shipper},
                    /*step=*/7);
    const ParcelKey key{.index = 3, .micro_batch = 2, .stage = kTo};
    auto array = std::make_shared<OwnArray>();
    for (size_t i = 0; i < own[kFrom].size(); ++i) {
      const Tensor& shard = shards[own[kFrom].positions[i]];
      array->push_back(ValueOf(client->FromHost(
          {.bytes = {reinterpret_cast<const std::byte*>(shard.data.data()),
                     shard.data.size()},
           .shape = {shard.type, shard.dimensions}},
          *own[kFrom].devices[i])));
    }
    if (!array->empty()) {
      ASSERT_EQ(courier.Send(key, array), absl::OkStatus());
    }
    if (own[kTo].empty()) return;
    if (worker % 2 == 0) courier.Expect(key);
    const Courier::Delivery delivery = ValueOf(courier.Receive(key));
    EXPECT_EQ(delivery.from, kFrom);
    for (size_t i = 0; i < own[kTo].size(); ++i) {
      const Buffer& buffer = *(*delivery.array)[i];
      EXPECT_EQ(&buffer.device(), own[kTo].devices[i]);
      Tensor& shard = received[own[kTo].positions[i]];
      shard.type = buffer.shape().type;
      shard.dimensions = buffer.shape().dimensions;
      shard.data.resize(buffer.shape().host_bytes());
      ASSERT_EQ(
          buffer.ReadToHost({reinterpret_cast<std::byte*>(shard.data.data()),
                             shard.data.size()}),
          absl::OkStatus());
    }
  }

  std::vector<std::vector<DeviceAt>> devices_{2};
  Routes routes_;
};

TEST_P(MoveTest, ArrivesAsItWas) {
  const MoveCase& test = GetParam();
  const Mesh source = ValueOf(Mesh::Parse(test.source));
  const Mesh target = ValueOf(Mesh::Parse(test.target));
  const Sharding from =
      ValueOf(ParseSharding(test.from, test.dimensions, source));
  const Sharding to = ValueOf(ParseSharding(test.to, test.dimensions, target));
  const Tensor tensor = Counted(test.dimensions);
  routes_[{.index = 3, .stage = kTo}] = {
      .list = MakeSendList(from, source, to, target),
      .shape = Shape::Array(tensor.type, LocalDimensions(to, target)),
      .from = kFrom};
  std::vector<Tensor> shards;
  for (int64_t device = 0; device < source.device_count(); ++device) {
    shards.push_back(Shard(tensor, from, source, device));
  }
  for (const int workers : {1, 2, 3}) {
    SCOPED_TRACE(workers);
    std::vector<Tensor> received(target.device_count());
    Run(workers, shards, received);
    const Tensor whole = Unshard(received, to, target);
    EXPECT_TRUE(whole == tensor);
    EXPECT_EQ(FindDifference(whole, received, to, target), std::nullopt);
  }
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
