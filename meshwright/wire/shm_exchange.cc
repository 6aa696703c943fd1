#include "meshwright/wire/shm_exchange.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/wire/shm_segment.h"
#include "meshwright/wire/slices.h"

namespace meshwright {
namespace {

using internal::Slice;

// The positions of the messages in a member's stream, by receiver.
class Stream {
 public:
  // `sizes` by receiver; what the member sends to itself is ignored.
  Stream(int member, const std::vector<uint64_t>& sizes)
      : slices_(sizes.size()) {
    const int count = static_cast<int>(sizes.size());
    for (int step = 1; step < count; ++step) {
      const int to = (member + step) % count;
      slices_[to] = {size_, sizes[to]};
      size_ += sizes[to];
    }
  }

  size_t size() const { return size_; }
  const Slice& message(int to) const { return slices_[to]; }

 private:
  std::vector<Slice> slices_;
  size_t size_ = 0;
};

// The overlap of two slices of one stream.
Slice Common(const Slice& a, const Slice& b) {
  const size_t begin = std::max(a.offset, b.offset);
  const size_t end = std::min(a.offset + a.size, b.offset + b.size);
  return {begin, end > begin ? end - begin : 0};
}

class ShmExchange {
 public:
  ShmExchange(absl::Span<const Group::Outgoing> sends,
              absl::Span<const Group::Incoming> receives, int rank, int size,
              ShmCall& call)
      : rank_(rank), size_(size), call_(call), out_(size), in_(size) {
    for (const Group::Outgoing& send : sends) out_[send.to] = send.bytes;
    for (const Group::Incoming& receive : receives) {
      in_[receive.from] = receive.bytes;
    }
  }

  absl::Status Run() {
    if (!out_[rank_].empty()) {
      std::memmove(in_[rank_].data(), out_[rank_].data(), out_[rank_].size());
    }
    std::vector<uint64_t> sizes;
    for (const auto& bytes : out_) sizes.push_back(bytes.size());
    const Stream own(rank_, sizes);
    std::memcpy(call_.buffer(), sizes.data(), HeadBytes());
    Leave(own, 0);
    MW_RETURN_IF_ERROR(call_.AwaitAll());
    ReadHeads();
    size_t longest = own.size();
    for (const Stream& stream : streams_) {
      longest = std::max(longest, stream.size());
    }
    Take(0);
    const int64_t rounds = internal::ChunkCount(longest, PieceBytes());
    for (int64_t round = 1; round < rounds; ++round) {
      call_.NextRound();
      Leave(own, round);
      MW_RETURN_IF_ERROR(call_.AwaitAll());
      Take(round);
    }
    return mismatch_;
  }

 private:
  size_t HeadBytes() const { return sizeof(uint64_t) * size_; }
  size_t PieceBytes() const { return ShmSegment::kBufferBytes - HeadBytes(); }
  Slice PieceOf(const Stream& stream, int64_t round) const {
    return internal::ChunkOf(stream.size(), PieceBytes(), round);
  }

  void ReadHeads() {
    for (int member = 0; member < size_; ++member) {
      std::vector<uint64_t> sizes(size_);
      if (member != rank_) {
        std::memcpy(sizes.data(), call_.buffer_of(member), HeadBytes());
        if (sizes[rank_] != in_[member].size()) {
          mismatch_ = absl::InvalidArgumentError(absl::StrCat(
              "exchange: member ", member, " sends ", sizes[rank_],
              " bytes, member ", rank_, " expects ", in_[member].size()));
        }
      }
      streams_.emplace_back(member, sizes);
    }
  }

  void Leave(const Stream& own, int64_t round) {
    const Slice piece = PieceOf(own, round);
    for (int to = 0; to < size_; ++to) {
      const Slice part = Common(piece, own.message(to));
      if (to == rank_ || part.size == 0) continue;
      std::memcpy(call_.buffer() + HeadBytes() + (part.offset - piece.offset),
                  out_[to].data() + (part.offset - own.message(to).offset),
                  part.size);
    }
    call_.Publish();
  }

  void Take(int64_t round) {
    for (int step = 1; step < size_; ++step) {
      const int from = (rank_ + size_ - step) % size_;
      const Stream& stream = streams_[from];
      const Slice& message = stream.message(rank_);
      const Slice piece = PieceOf(stream, round);
      const Slice part = Common(piece, message);
      if (part.size == 0 || message.size != in_[from].size()) continue;
      std::memcpy(
          in_[from].data() + (part.offset - message.offset),
          call_.buffer_of(from) + HeadBytes() + (part.offset - piece.offset),
          part.size);
    }
  }

  const int rank_;
  const int size_;
  ShmCall& call_;
  std::vector<absl::Span<const std::byte>> out_;  // By receiver.
  std::vector<absl::Span<std::byte>> in_;         // By sender.
  std::vector<Stream> streams_;                   // By sender.
  absl::Status mismatch_;
};

}  // namespace

absl::Status RunShmExchange(absl::Span<const Group::Outgoing> sends,
                            absl::Span<const Group::Incoming> receives,
                            int rank, int size, ShmCall& call) {
  return ShmExchange(sends, receives, rank, size, call).Run();
}

}  // namespace meshwright
