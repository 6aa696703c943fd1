#include "meshwright/wire/shm_group.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/collective_checks.h"
#include "meshwright/wire/reduce.h"
#include "meshwright/wire/shm_exchange.h"
#include "meshwright/wire/slices.h"
#include "meshwright/wire/slot.h"

namespace meshwright {
namespace {

using internal::ChunkCount;
using internal::ChunkOf;
using internal::MixSlot;
using internal::PartOf;
using internal::Slice;

// Up to this size, every member reads everything.
constexpr size_t kReadAllBytes = 32 << 10;
// A chunk, followed by the slice that the member has combined.
constexpr size_t kChunkBytes = 512 << 10;
static_assert(kChunkBytes + kChunkBytes / 2 <= ShmSegment::kBufferBytes);

}  // namespace

ShmGroup::ShmGroup(ShmNeighbors* neighbors, Health* health,
                   std::vector<int> ranks)
    : neighbors_(neighbors),
      health_(health),
      ranks_(std::move(ranks)),
      rank_(static_cast<int>(std::ranges::find(ranks_, health_->rank()) -
                             ranks_.begin())),
      slot_(internal::GroupSlot(ranks_)) {}

absl::StatusOr<std::unique_ptr<ShmCall>> ShmGroup::Begin(Kind kind,
                                                         ElementType type,
                                                         size_t bytes,
                                                         uint32_t tag) {
  MW_ASSIGN_OR_RETURN(const int channel, neighbors_->TakeChannel(*health_));
  uint64_t earlier = 0;
  {
    const std::lock_guard lock(mutex_);
    earlier = calls_[tag]++;
  }
  const uint64_t id =
      MixSlot({slot_, static_cast<uint64_t>(kind), static_cast<uint64_t>(type),
               bytes, tag, earlier});
  return std::make_unique<ShmCall>(neighbors_, health_, ranks_, rank_, channel,
                                   id);
}

absl::Status ShmGroup::AllReduce(ReduceOp op, ElementType type,
                                 absl::Span<std::byte> data, uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckReduction(op, type, data.size()));
  if (size() == 1 || data.empty()) return health_->status();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<ShmCall> call,
                      Begin(Kind::kAllReduce, type, data.size(), tag));
  return data.size() <= kReadAllBytes ? ReduceAtOnce(op, type, data, *call)
                                      : ReduceInChunks(op, type, data, *call);
}

absl::Status ShmGroup::ReduceAtOnce(ReduceOp op, ElementType type,
                                    absl::Span<std::byte> data, ShmCall& call) {
  std::memcpy(call.buffer(), data.data(), data.size());
  call.Publish();
  MW_RETURN_IF_ERROR(call.AwaitAll());
  Combine(op, type, call, data.data(), 0, data);
  return absl::OkStatus();
}

absl::Status ShmGroup::ReduceInChunks(ReduceOp op, ElementType type,
                                      absl::Span<std::byte> data,
                                      ShmCall& call) {
  const auto width = static_cast<size_t>(HostBytes(type));
  const int64_t chunks = ChunkCount(data.size(), kChunkBytes);
  for (int64_t round = 0; round <= chunks; ++round) {
    const Slice chunk = ChunkOf(data.size(), kChunkBytes, round);
    const Slice own = PartOf(chunk.size, width, size(), rank_);
    for (int member = 0; member < size(); ++member) {
      if (member == rank_) continue;
      const Slice part = PartOf(chunk.size, width, size(), member);
      std::memcpy(call.buffer() + part.offset,
                  data.data() + chunk.offset + part.offset, part.size);
    }
    call.Publish();
    MW_RETURN_IF_ERROR(call.AwaitAll());
    const absl::Span<std::byte> result(call.next_buffer() + kChunkBytes,
                                       own.size);
    std::byte* const own_data = data.data() + chunk.offset + own.offset;
    Combine(op, type, call, own_data, own.offset, result);
    std::memcpy(own_data, result.data(), result.size());
    if (round > 0) {
      const Slice before = ChunkOf(data.size(), kChunkBytes, round - 1);
      for (int step = 1; step < size(); ++step) {
        const int member = (rank_ + step) % size();
        const Slice part = PartOf(before.size, width, size(), member);
        std::memcpy(data.data() + before.offset + part.offset,
                    call.buffer_of(member) + kChunkBytes, part.size);
      }
    }
    call.NextRound();
  }
  return absl::OkStatus();
}

void ShmGroup::Combine(ReduceOp op, ElementType type, ShmCall& call,
                       const std::byte* own, size_t offset,
                       absl::Span<std::byte> into) {
  if (into.empty()) return;
  std::vector<const std::byte*> sources;
  for (int member = 0; member < size(); ++member) {
    sources.push_back(member == rank_ ? own : call.buffer_of(member) + offset);
  }
  ReduceAll(op, type, sources, into);
}

absl::Status ShmGroup::ReduceScatter(ReduceOp op, ElementType type,
                                     absl::Span<const std::byte> in,
                                     absl::Span<std::byte> out, uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckReduction(op, type, out.size()));
  MW_RETURN_IF_ERROR(internal::CheckBlocks(in.size(), out.size(), size()));
  if (out.empty()) return health_->status();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<ShmCall> call,
                      Begin(Kind::kReduceScatter, type, in.size(), tag));
  const auto width = static_cast<size_t>(HostBytes(type));
  const size_t chunk_bytes = kChunkBytes / size() / width * width;
  const int64_t chunks = ChunkCount(out.size(), chunk_bytes);
  for (int64_t round = 0; round < chunks; ++round) {
    const Slice chunk = ChunkOf(out.size(), chunk_bytes, round);
    for (int member = 0; member < size(); ++member) {
      if (member == rank_) continue;
      std::memcpy(call->buffer() + chunk_bytes * member,
                  in.data() + out.size() * member + chunk.offset, chunk.size);
    }
    call->Publish();
    MW_RETURN_IF_ERROR(call->AwaitAll());
    Combine(op, type, *call, in.data() + out.size() * rank_ + chunk.offset,
            chunk_bytes * rank_, out.subspan(chunk.offset, chunk.size));
    call->NextRound();
  }
  return absl::OkStatus();
}

absl::Status ShmGroup::AllGather(absl::Span<const std::byte> in,
                                 absl::Span<std::byte> out, uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckBlocks(out.size(), in.size(), size()));
  if (in.empty()) return health_->status();
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<ShmCall> call,
      Begin(Kind::kAllGather, ElementType::kU8, in.size(), tag));
  std::memmove(out.data() + in.size() * rank_, in.data(), in.size());
  const int64_t chunks = ChunkCount(in.size(), kChunkBytes);
  for (int64_t round = 0; round < chunks; ++round) {
    const Slice chunk = ChunkOf(in.size(), kChunkBytes, round);
    std::memcpy(call->buffer(), in.data() + chunk.offset, chunk.size);
    call->Publish();
    MW_RETURN_IF_ERROR(call->AwaitAll());
    for (int step = 1; step < size(); ++step) {
      const int member = (rank_ + step) % size();
      std::memcpy(out.data() + in.size() * member + chunk.offset,
                  call->buffer_of(member), chunk.size);
    }
    call->NextRound();
  }
  return absl::OkStatus();
}

absl::Status ShmGroup::Exchange(absl::Span<const Outgoing> sends,
                                absl::Span<const Incoming> receives,
                                uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckExchange(sends, receives, rank_, size()));
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<ShmCall> call,
                      Begin(Kind::kExchange, ElementType::kU8, 0, tag));
  return RunShmExchange(sends, receives, rank_, size(), *call);
}

}  // namespace meshwright
