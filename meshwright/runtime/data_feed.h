// The batches of a dataset on the devices of one worker: of each batch only the
// rows that these need, read and copied by a thread that prefetches.
//
//   MW_ASSIGN_OR_RETURN(auto feed, DataFeed::Create(where, spec, position));
//   MW_ASSIGN_OR_RETURN(auto batch, feed->Next());   // At `position`.
//   MW_ASSIGN_OR_RETURN(batch, feed->Next());        // The one after it.
#ifndef MESHWRIGHT_RUNTIME_DATA_FEED_H_
#define MESHWRIGHT_RUNTIME_DATA_FEED_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/data/dataset.h"
#include "meshwright/engine/client.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/own_devices.h"

namespace meshwright {

// The parameters of a job that a dataset names, and their shapes.
// kInvalidArgument if one does not exist or is state.
absl::StatusOr<std::map<std::string, Shape>> FedParameters(
    const Job& job, const DatasetSpec& spec);

class DataFeed {
 public:
  // Everything must outlive the feed.
  struct Where {
    Client* client = nullptr;
    const Job* job = nullptr;
    const std::vector<OwnDevices>* own = nullptr;  // By stage.
  };
  // By parameter and stage: one array, or one for each micro-batch.
  using Batch = std::map<std::pair<int64_t, StageId>, std::vector<SharedArray>>;

  // Opens the files and reads the first batch. kInvalidArgument, in one line,
  // if something is wrong with them.
  static absl::StatusOr<std::unique_ptr<DataFeed>> Create(
      const Where& where, const DatasetSpec& spec, int64_t position);
  ~DataFeed();

  // Waits if it is not ready yet. kOutOfRange or kDataLoss, naming the file, if
  // it cannot be read; never kInvalidArgument.
  absl::StatusOr<std::shared_ptr<const Batch>> Next();

 private:
  // Rows of a parameter for devices that hold the same ones.
  struct Piece {
    int64_t parameter = 0;
    StageId stage;
    int64_t micro_batch = 0;
    std::vector<int64_t> rows;     // Of the batch; -1: padding.
    std::vector<int64_t> devices;  // Of the stage, on this worker.
  };

  DataFeed(const Where& where, int64_t sink, int64_t position)
      : where_(where), sink_(sink), next_position_(position) {}

  absl::Status FindPieces();
  absl::Status FindPieces(int64_t parameter, StageId stage);
  absl::StatusOr<std::shared_ptr<const Batch>> Read(int64_t position);
  void ReadAhead();

  const Where where_;
  const int64_t sink_;
  std::unique_ptr<Dataset> dataset_;  // Used by the thread only, once it runs.
  std::map<std::string, Shape> parameters_;
  std::vector<Piece> pieces_;
  int64_t next_position_ = 0;  // Used by the thread only.

  // Batches that stay on the devices (`sink`).
  std::vector<std::shared_ptr<const Batch>> kept_;
  int64_t taken_ = 0;
  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::deque<std::shared_ptr<const Batch>> ready_;
  absl::Status failure_;  // Of the batch after these.
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_DATA_FEED_H_
