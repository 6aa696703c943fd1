#include "meshwright/wire/message_reduction.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/reduce.h"
#include "meshwright/wire/slot.h"

namespace meshwright {

MessageReduction::MessageReduction(Options options)
    : options_(std::move(options)),
      result_slot_(internal::MixSlot({options_.slot, 1})) {
  const size_t bytes = options_.largest_slice * (size() - 1);
  for (int64_t i = 0; i < std::min<int64_t>(options_.chunks, kDepth); ++i) {
    under_way_[i].scratch = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
}

absl::Status MessageReduction::Run() {
  const int64_t chunks = options_.chunks;
  for (int64_t i = 0; i < std::min<int64_t>(chunks, kDepth); ++i) Start(i);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    MW_RETURN_IF_ERROR(Combine(chunk));
    // The previous chunk has had time to finish; its buffers are used for a new
    // one.
    if (chunk == 0) continue;
    MW_RETURN_IF_ERROR(Finish(chunk - 1));
    if (chunk - 1 + kDepth < chunks) Start(chunk - 1 + kDepth);
  }
  return chunks > 0 ? Finish(chunks - 1) : absl::OkStatus();
}

void MessageReduction::Start(int64_t chunk) {
  Chunk& now = ChunkAt(chunk);
  std::byte* scratch = now.scratch.get();
  const size_t own = options_.out(chunk, options_.rank).size();
  // Each member starts with a different peer.
  for (int step = 1; step < size(); ++step) {
    const int member = (options_.rank + step) % size();
    const absl::Span<const std::byte> slice = options_.in(chunk, member);
    if (slice.empty()) continue;
    now.rest.push_back(
        options_.transport->Send(options_.ranks[member], options_.slot, slice));
  }
  for (int member = 0; member < size(); ++member) {
    if (member == options_.rank) continue;
    const int peer = options_.ranks[member];
    if (own > 0) {
      now.inputs.push_back(options_.transport->Receive(
          peer, options_.slot, absl::MakeSpan(scratch, own)));
      scratch += own;
    }
    if (!options_.gather) continue;
    // The peer can send it only after it has received what is sent here.
    const absl::Span<std::byte> result = options_.out(chunk, member);
    if (result.empty()) continue;
    now.rest.push_back(options_.transport->Receive(peer, result_slot_, result));
  }
}

absl::Status MessageReduction::Combine(int64_t chunk) {
  Chunk& now = ChunkAt(chunk);
  for (const auto& input : now.inputs) MW_RETURN_IF_ERROR(input->Await());
  now.inputs.clear();
  const absl::Span<std::byte> out = options_.out(chunk, options_.rank);
  if (out.empty()) return absl::OkStatus();
  // In the order of the members, so that results are deterministic.
  std::vector<const std::byte*> sources;
  const std::byte* scratch = now.scratch.get();
  for (int member = 0; member < size(); ++member) {
    if (member == options_.rank) {
      sources.push_back(options_.in(chunk, member).data());
    } else {
      sources.push_back(scratch);
      scratch += out.size();
    }
  }
  ReduceAll(options_.op, options_.type, sources, out);
  if (!options_.gather) return absl::OkStatus();
  for (int step = 1; step < size(); ++step) {
    const int member = (options_.rank + step) % size();
    now.rest.push_back(
        options_.transport->Send(options_.ranks[member], result_slot_, out));
  }
  return absl::OkStatus();
}

absl::Status MessageReduction::Finish(int64_t chunk) {
  Chunk& now = ChunkAt(chunk);
  for (const auto& transfer : now.rest) MW_RETURN_IF_ERROR(transfer->Await());
  now.rest.clear();
  return absl::OkStatus();
}

}  // namespace meshwright
