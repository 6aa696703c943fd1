// Moves arrays between stages within one step, tile by tile, for the devices of
// one worker.
//
//   courier.Send(key, array);       // On workers with devices of the sender.
//   courier.Expect(key);            // On the receiver's, some time before
//   MW_ASSIGN_OR_RETURN(Delivery d, courier.Receive(key));    // it needs it.
//
// Tiles for devices of this worker are copied there at once; others go through
// host memory and over the wire. Thread-safe, as long as each key is used by
// one thread.
#ifndef MESHWRIGHT_RUNTIME_COURIER_H_
#define MESHWRIGHT_RUNTIME_COURIER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/pipeline/stage_transfer.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/own_devices.h"
#include "meshwright/runtime/parcel.h"
#include "meshwright/runtime/shipper.h"
#include "meshwright/runtime/tile_mover.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

// The transfer from one stage to another of arrays with the same shardings.
struct Route {
  SendList list;
  Shape shape;  // Of the arrays on the target's devices.
  StageId from;
};
// Keyed with micro-batch 0, for all micro-batches.
using Routes = std::map<ParcelKey, Route>;

// Of everything that is sent between stages, or resharded when a step begins.
Routes RoutesOf(const Job& job);

class Courier {
 public:
  // What is the same in all steps; everything must outlive the courier.
  struct Means {
    Client* client = nullptr;
    int worker = 0;
    const std::vector<std::vector<DeviceAt>>* devices = nullptr;  // By stage.
    const std::vector<OwnDevices>* own = nullptr;                 // By stage.
    const Routes* routes = nullptr;
    TileMover* mover = nullptr;
    Wire* wire = nullptr;  // Null: there is one worker.
    Shipper* shipper = nullptr;
  };

  Courier(const Means& means, int64_t step) : means_(means), step_(step) {}

  int64_t step() const { return step_; }
  const Stopwatch& clock() const { return clock_; }

  absl::Status Send(const ParcelKey& key, SharedArray array);
  // Posts receives for what comes over the wire.
  void Expect(const ParcelKey& key);

  struct Delivery {
    SharedArray array;    // Complete.
    StageId from;         // Stage.
    double sent_at = 0;   // As far as this worker knows,
    double there_at = 0;  // in seconds since the step began.
    double waited = 0;    // For the wire.
  };
  absl::StatusOr<Delivery> Receive(const ParcelKey& key);

  // Ends all waiting. The first error is kept.
  void Stop(const absl::Status& error);
  absl::Status error() const { return rack_.error(); }

 private:
  const Route& RouteOf(ParcelKey key) const;
  // The device that a tile is sent from in a round, and to.
  DeviceAt SourceOf(const Route& route, StageId stage, int32_t round,
                    const Tile& tile) const;
  MessageKey MessageOf(const PieceKey& key) const;
  absl::Status SendTiles(const ParcelKey& key, const Route& route,
                         int32_t round, StageId from, SharedArray array);
  // The tiles in their places on this worker's devices, over `beneath`.
  absl::StatusOr<OwnArray> Gather(const ParcelKey& key, const Route& route,
                                  int32_t round, const OwnArray* beneath,
                                  Delivery& delivery);
  std::unique_ptr<Arrival> Post(const PieceKey& key, const Route& route,
                                const Tile& tile, int from);
  absl::StatusOr<BufferPtr> Take(const PieceKey& key, const Route& route,
                                 const Tile& tile, Delivery& delivery);

  const Means means_;
  const int64_t step_;
  const Stopwatch clock_;
  PieceRack rack_;
  std::mutex mutex_;
  std::map<PieceKey, std::unique_ptr<Arrival>> expected_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COURIER_H_
