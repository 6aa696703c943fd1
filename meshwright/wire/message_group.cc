#include "meshwright/wire/message_group.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/wire/collective_checks.h"
#include "meshwright/wire/message_reduction.h"
#include "meshwright/wire/reduce.h"
#include "meshwright/wire/slices.h"
#include "meshwright/wire/slot.h"

namespace meshwright {
namespace {

using internal::ChunkCount;
using internal::ChunkOf;
using internal::MixSlot;
using internal::PartOf;
using internal::Slice;

// Up to this size, every member sends all its bytes to all others.
constexpr size_t kAtOnceBytes = 16 << 10;
constexpr int kAtOnceMembers = 8;
// Size of one member's slice of a chunk. Large slices cost Gloo the least time,
// but there should be two chunks, so that one is combined while the other is in
// flight.
constexpr size_t kLargestSlice = 1 << 20;
constexpr size_t kSmallestSlice = 64 << 10;

enum Kind : uint64_t {
  kAllReduce = 2,
  kReduceScatter,
  kAllGather,
  kExchange,
};

// The size of slices, in whole elements, if each member has `bytes` to combine.
size_t SliceBytes(size_t bytes, size_t width) {
  return std::clamp(bytes / 2, kSmallestSlice, kLargestSlice) / width * width;
}

int PlaceOf(int rank, absl::Span<const int> ranks) {
  return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
}

}  // namespace

MessageGroup::MessageGroup(Transport* transport, std::vector<int> ranks)
    : transport_(transport),
      ranks_(std::move(ranks)),
      rank_(PlaceOf(transport_->health().rank(), ranks_)),
      slot_(internal::GroupSlot(ranks_)) {}

absl::Status MessageGroup::AllReduce(ReduceOp op, ElementType type,
                                     absl::Span<std::byte> data, uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckReduction(op, type, data.size()));
  if (size() == 1 || data.empty()) return absl::OkStatus();
  const uint64_t slot = MixSlot(
      {slot_, kAllReduce, tag, data.size(), static_cast<uint64_t>(type)});
  if (data.size() <= kAtOnceBytes && size() <= kAtOnceMembers) {
    return ReduceAtOnce(op, type, data, slot);
  }
  const auto width = static_cast<size_t>(HostBytes(type));
  const size_t chunk_bytes = SliceBytes(data.size() / size(), width) * size();
  const auto slice = [&](int64_t chunk, int member) {
    const Slice place = ChunkOf(data.size(), chunk_bytes, chunk);
    const Slice part = PartOf(place.size, width, size(), member);
    return data.subspan(place.offset + part.offset, part.size);
  };
  return MessageReduction({.transport = transport_,
                           .ranks = ranks_,
                           .rank = rank_,
                           .op = op,
                           .type = type,
                           .slot = slot,
                           .chunks = ChunkCount(data.size(), chunk_bytes),
                           .largest_slice = slice(0, 0).size(),
                           .in = slice,
                           .out = slice,
                           .gather = true})
      .Run();
}

absl::Status MessageGroup::ReduceAtOnce(ReduceOp op, ElementType type,
                                        absl::Span<std::byte> data,
                                        uint64_t slot) {
  const auto scratch =
      std::make_unique_for_overwrite<std::byte[]>(data.size() * (size() - 1));
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  std::vector<const std::byte*> sources;
  std::byte* next = scratch.get();
  for (int member = 0; member < size(); ++member) {
    sources.push_back(member == rank_ ? data.data() : next);
    if (member == rank_) continue;
    sends.push_back({member, data});
    receives.push_back({member, absl::MakeSpan(next, data.size())});
    next += data.size();
  }
  MW_RETURN_IF_ERROR(ExchangeOn(slot, sends, receives));
  ReduceAll(op, type, sources, data);
  return absl::OkStatus();
}

absl::Status MessageGroup::ReduceScatter(ReduceOp op, ElementType type,
                                         absl::Span<const std::byte> in,
                                         absl::Span<std::byte> out,
                                         uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckReduction(op, type, out.size()));
  MW_RETURN_IF_ERROR(internal::CheckBlocks(in.size(), out.size(), size()));
  const auto width = static_cast<size_t>(HostBytes(type));
  const size_t chunk_bytes = SliceBytes(out.size(), width);
  const auto slice_of_out = [&](int64_t chunk, int) {
    return out.subspan(chunk_bytes * chunk, chunk_bytes);
  };
  const auto slice_of_in = [&](int64_t chunk, int member) {
    return in.subspan(out.size() * member, out.size())
        .subspan(chunk_bytes * chunk, chunk_bytes);
  };
  return MessageReduction(
             {.transport = transport_,
              .ranks = ranks_,
              .rank = rank_,
              .op = op,
              .type = type,
              .slot = MixSlot({slot_, kReduceScatter, tag, in.size(),
                               static_cast<uint64_t>(type)}),
              .chunks = ChunkCount(out.size(), chunk_bytes),
              .largest_slice = std::min(chunk_bytes, out.size()),
              .in = slice_of_in,
              .out = slice_of_out})
      .Run();
}

absl::Status MessageGroup::AllGather(absl::Span<const std::byte> in,
                                     absl::Span<std::byte> out, uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckBlocks(out.size(), in.size(), size()));
  std::vector<Outgoing> sends;
  std::vector<Incoming> receives;
  for (int member = 0; member < size(); ++member) {
    sends.push_back({member, in});
    receives.push_back({member, out.subspan(in.size() * member, in.size())});
  }
  return ExchangeOn(MixSlot({slot_, kAllGather, tag}), sends, receives);
}

absl::Status MessageGroup::Exchange(absl::Span<const Outgoing> sends,
                                    absl::Span<const Incoming> receives,
                                    uint32_t tag) {
  MW_RETURN_IF_ERROR(internal::CheckExchange(sends, receives, rank_, size()));
  return ExchangeOn(MixSlot({slot_, kExchange, tag}), sends, receives);
}

absl::Status MessageGroup::ExchangeOn(uint64_t slot,
                                      absl::Span<const Outgoing> sends,
                                      absl::Span<const Incoming> receives) {
  std::vector<std::unique_ptr<Transfer>> transfers;
  transfers.reserve(sends.size() + receives.size());
  absl::Span<std::byte> from_self;
  for (const Incoming& receive : receives) {
    if (receive.from == rank_) from_self = receive.bytes;
  }
  // Sends first, so that Gloo's thread does most of the writing: if both
  // threads write, Gloo's spins until the other has finished.
  for (const Outgoing& send : sends) {
    if (send.bytes.empty()) continue;
    if (send.to == rank_) {
      // An all-gather may be in place, so the memory may overlap.
      std::memmove(from_self.data(), send.bytes.data(), send.bytes.size());
      continue;
    }
    transfers.push_back(transport_->Send(
        ranks_[send.to], MixSlot({slot, send.bytes.size()}), send.bytes));
  }
  for (const Incoming& receive : receives) {
    if (receive.bytes.empty() || receive.from == rank_) continue;
    transfers.push_back(transport_->Receive(
        ranks_[receive.from], MixSlot({slot, receive.bytes.size()}),
        receive.bytes));
  }
  for (const auto& transfer : transfers) {
    MW_RETURN_IF_ERROR(transfer->Await());
  }
  return absl::OkStatus();
}

}  // namespace meshwright
