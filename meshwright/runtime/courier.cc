#include "meshwright/runtime/courier.h"

#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Kind = ParcelKey::Kind;

const std::vector<Tile>& TilesOf(const Route& route, int32_t round) {
  return round == 0 ? route.list.sent : route.list.shared;
}

}  // namespace

Routes RoutesOf(const Job& job) {
  Routes routes;
  const StagedStep& step = job.step;
  const StagedLayout& layout = job.layout;
  const auto add = [&](Kind kind, const Sharding& here, StageId from,
                       const Sharding& there, StageId to, int64_t index,
                       const Shape& shape) {
    const ParcelKey key{.kind = kind, .index = index, .stage = to};
    if (routes.contains(key)) return;
    routes[key] = {
        .list =
            MakeSendList(here, layout.meshes[from], there, layout.meshes[to]),
        .shape = Shape::Array(shape.element_type,
                              LocalDimensions(there, layout.meshes[to])),
        .from = from};
  };
  const auto send = [&](Kind kind, const StageShardings& shardings,
                        const Shape& shape, int64_t index, StageId from,
                        StageId to) {
    if (from == to) return;
    add(kind, shardings.at({index, from}), from, shardings.at({index, to}), to,
        index, shape);
  };
  for (size_t i = 0; i < step.values.size(); ++i) {
    const StageValue& value = step.values[i];
    for (const ProgramId user : value.users) {
      send(Kind::kValue, layout.values, value.shape, static_cast<int64_t>(i),
           step.programs[value.program].stage, step.programs[user].stage);
    }
  }
  for (const StageProgram& program : step.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kAccumulator) continue;
      const StageAccumulator& accumulator = step.accumulators[input.index];
      send(Kind::kAccumulator, layout.accumulators, accumulator.shape,
           input.index, accumulator.stage, program.stage);
    }
  }
  for (const auto& [key, sharding] : layout.parameters) {
    const auto& [number, stage] = key;
    if (!job.parameters[number].is_state) continue;
    send(Kind::kParameter, layout.parameters, job.parameters[number].shape,
         number, step.homes[number], stage);
  }
  for (const auto& [key, sharding] : layout.at_work) {
    const auto& [number, stage] = key;
    add(Kind::kAtWork, layout.parameters.at(key), stage, sharding, stage,
        number, job.parameters[number].shape);
  }
  return routes;
}

const Route& Courier::RouteOf(ParcelKey key) const {
  key.micro_batch = 0;
  return means_.routes->at(key);
}

DeviceAt Courier::SourceOf(const Route& route, StageId stage, int32_t round,
                           const Tile& tile) const {
  return (*means_.devices)[round == 0 ? route.from : stage][tile.from];
}

// There are far fewer stages and tiles than these bits can number.
MessageKey Courier::MessageOf(const PieceKey& key) const {
  return {
      .step = step_,
      .tensor = key.parcel.index * 4 + static_cast<int64_t>(key.parcel.kind),
      .micro_batch = key.parcel.micro_batch,
      .part = (int64_t{key.parcel.stage} * 2 + key.round) << 32 |
              int64_t{key.tile}};
}

absl::Status Courier::Send(const ParcelKey& key, SharedArray array) {
  const Route& route = RouteOf(key);
  return SendTiles(key, route, /*round=*/0, route.from, std::move(array));
}

absl::Status Courier::SendTiles(const ParcelKey& key, const Route& route,
                                int32_t round, StageId from,
                                SharedArray array) {
  const double now = clock_.seconds();
  const OwnDevices& own = (*means_.own)[from];
  const std::vector<Tile>& tiles = TilesOf(route, round);
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Tile& tile = tiles[i];
    const int32_t index = own.index_of[tile.from];
    if (index < 0) continue;
    const PieceKey piece{key, round, static_cast<int32_t>(i)};
    const Buffer& buffer = *(*array)[index];
    const DeviceAt& to = (*means_.devices)[key.stage][tile.to];
    if (to.worker == means_.worker) {
      const OwnDevices& there = (*means_.own)[key.stage];
      MW_ASSIGN_OR_RETURN(
          BufferPtr copy,
          means_.mover->Fetch(buffer, tile,
                              *there.devices[there.index_of[tile.to]]));
      rack_.Put(piece, {std::move(copy), now, clock_.seconds()});
      continue;
    }
    if (tile.sizes == buffer.shape().dimensions) {
      MW_RETURN_IF_ERROR(
          means_.shipper->Ship(buffer, array, to.worker, MessageOf(piece)));
      continue;
    }
    MW_ASSIGN_OR_RETURN(BufferPtr slice, means_.mover->SliceOut(buffer, tile));
    const std::shared_ptr<Buffer> kept = std::move(slice);
    MW_RETURN_IF_ERROR(
        means_.shipper->Ship(*kept, kept, to.worker, MessageOf(piece)));
  }
  return absl::OkStatus();
}

std::unique_ptr<Arrival> Courier::Post(const PieceKey& key, const Route& route,
                                       const Tile& tile, int from) {
  const BufferShape shape{route.shape.element_type, tile.sizes};
  return means_.wire->Receive(from, MessageOf(key), shape.host_bytes());
}

void Courier::Expect(const ParcelKey& key) {
  if (means_.wire == nullptr) return;
  const Route& route = RouteOf(key);
  const OwnDevices& own = (*means_.own)[key.stage];
  for (size_t i = 0; i < route.list.sent.size(); ++i) {
    const Tile& tile = route.list.sent[i];
    const DeviceAt from = SourceOf(route, key.stage, 0, tile);
    if (own.index_of[tile.to] < 0 || from.worker == means_.worker) continue;
    const PieceKey piece{key, 0, static_cast<int32_t>(i)};
    std::unique_ptr<Arrival> arrival = Post(piece, route, tile, from.worker);
    const std::lock_guard lock(mutex_);
    expected_[piece] = std::move(arrival);
  }
}

absl::StatusOr<BufferPtr> Courier::Take(const PieceKey& key, const Route& route,
                                        const Tile& tile, Delivery& delivery) {
  const DeviceAt from = SourceOf(route, key.parcel.stage, key.round, tile);
  if (from.worker == means_.worker) {
    MW_ASSIGN_OR_RETURN(PieceRack::Piece piece, rack_.Take(key));
    delivery.sent_at = std::min(delivery.sent_at, piece.sent_at);
    delivery.there_at = std::max(delivery.there_at, piece.parked_at);
    return std::move(piece.buffer);
  }
  std::unique_ptr<Arrival> arrival;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = expected_.extract(key)) {
      arrival = std::move(found.mapped());
    }
  }
  if (arrival == nullptr) arrival = Post(key, route, tile, from.worker);
  const Stopwatch wait;
  const double now = clock_.seconds();
  MW_RETURN_IF_ERROR(arrival->Await());
  delivery.waited += wait.seconds();
  delivery.sent_at = std::min(delivery.sent_at, now);
  delivery.there_at = std::max(delivery.there_at, clock_.seconds());
  const OwnDevices& own = (*means_.own)[key.parcel.stage];
  OwnedBytes came = arrival->bytes();
  arrival = nullptr;  // The array alone holds them.
  return means_.client->FromHost(
      {.bytes = came.bytes,
       .shape = {route.shape.element_type, tile.sizes},
       .owner = std::move(came.owner)},
      *own.devices[own.index_of[tile.to]]);
}

absl::StatusOr<OwnArray> Courier::Gather(const ParcelKey& key,
                                         const Route& route, int32_t round,
                                         const OwnArray* beneath,
                                         Delivery& delivery) {
  const OwnDevices& own = (*means_.own)[key.stage];
  const std::vector<Tile>& tiles = TilesOf(route, round);
  const Tile whole{.to_start = std::vector<int64_t>(route.shape.rank(), 0),
                   .sizes = route.shape.dimensions};
  OwnArray gathered;
  for (size_t index = 0; index < own.size(); ++index) {
    const Device& device = *own.devices[index];
    std::vector<const Tile*> placed;
    std::vector<BufferPtr> parts;
    if (beneath != nullptr) {
      MW_ASSIGN_OR_RETURN(parts.emplace_back(),
                          (*beneath)[index]->CopyTo(device));
      placed.push_back(&whole);
    }
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (tiles[i].to != own.positions[index]) continue;
      MW_ASSIGN_OR_RETURN(parts.emplace_back(),
                          Take({key, round, static_cast<int32_t>(i)}, route,
                               tiles[i], delivery));
      placed.push_back(&tiles[i]);
    }
    MW_ASSIGN_OR_RETURN(
        gathered.emplace_back(),
        means_.mover->Assemble(std::move(parts), placed, route.shape, device));
  }
  return gathered;
}

absl::StatusOr<Courier::Delivery> Courier::Receive(const ParcelKey& key) {
  const Route& route = RouteOf(key);
  Delivery delivery{.from = route.from, .sent_at = clock_.seconds()};
  MW_ASSIGN_OR_RETURN(OwnArray array, Gather(key, route, 0, nullptr, delivery));
  delivery.array = std::make_shared<OwnArray>(std::move(array));
  if (!route.list.shared.empty()) {
    MW_RETURN_IF_ERROR(
        SendTiles(key, route, /*round=*/1, key.stage, delivery.array));
    MW_ASSIGN_OR_RETURN(array,
                        Gather(key, route, 1, delivery.array.get(), delivery));
    delivery.array = std::make_shared<OwnArray>(std::move(array));
  }
  // The end of a copy is not observed: one that is complete when checked is
  // taken to have ended when the delivery was parked.
  for (const BufferPtr& buffer : *delivery.array) {
    MW_ASSIGN_OR_RETURN(const EventPtr ready, buffer->Ready());
    const bool was_ready = ready->IsReady();
    MW_RETURN_IF_ERROR(ready->Await());
    if (!was_ready) delivery.there_at = clock_.seconds();
  }
  return delivery;
}

void Courier::Stop(const absl::Status& error) {
  rack_.Stop(error);
  if (means_.wire != nullptr) means_.wire->Abort(error);
}

}  // namespace meshwright
