// One reduction over messages, pipelined in chunks.
#ifndef MESHWRIGHT_WIRE_MESSAGE_REDUCTION_H_
#define MESHWRIGHT_WIRE_MESSAGE_REDUCTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/group.h"
#include "meshwright/wire/transport.h"

namespace meshwright {

// Runs once. Each chunk has a slice for each member; a slice may be empty, and
// is located by `in` and `out`, with the same sizes on every member.
class MessageReduction {
 public:
  struct Options {
    Transport* transport = nullptr;
    absl::Span<const int> ranks = {};
    int rank = 0;  // Within `ranks`.
    ReduceOp op = ReduceOp::kSum;
    ElementType type = ElementType::kF32;
    uint64_t slot = 0;
    int64_t chunks = 0;
    size_t largest_slice = 0;  // Bytes.
    // This member's data of the slice that `member` reduces.
    std::function<absl::Span<const std::byte>(int64_t chunk, int member)> in;
    // Where the reduced slice of `member` goes. Other members' slices only if
    // `gather`.
    std::function<absl::Span<std::byte>(int64_t chunk, int member)> out;
    bool gather = false;  // Everyone gets every slice.
  };
  explicit MessageReduction(Options options);

  absl::Status Run();

 private:
  // Chunks in flight.
  static constexpr int kDepth = 3;
  using Transfers = std::vector<std::unique_ptr<Transfer>>;
  struct Chunk {
    std::unique_ptr<std::byte[]> scratch;
    Transfers inputs;
    Transfers rest;
  };

  Chunk& ChunkAt(int64_t chunk) { return under_way_[chunk % kDepth]; }
  int size() const { return static_cast<int>(options_.ranks.size()); }
  void Start(int64_t chunk);
  absl::Status Combine(int64_t chunk);
  absl::Status Finish(int64_t chunk);

  const Options options_;
  const uint64_t result_slot_;
  std::array<Chunk, kDepth> under_way_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_MESSAGE_REDUCTION_H_
