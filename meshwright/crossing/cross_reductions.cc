// Collectives that combine values of devices.
#include <map>
#include <memory>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_steps.h"
#include "meshwright/wire/reduce.h"

namespace meshwright {
namespace {

using Bytes = std::unique_ptr<std::byte[]>;

Bytes NewBytes(int64_t size) {
  return std::make_unique_for_overwrite<std::byte[]>(size);
}

// Combines the local members' values of array `a`.
void ReduceHere(const CrossRound& round, size_t a, std::byte* into) {
  const CrossArrays::Array& array = round.arrays->operands[a];
  std::vector<const std::byte*> sources;
  for (const CrossMember& member : round.members) {
    sources.push_back(member.operands[a]);
  }
  ReduceAll(round.call->op, array.type, sources,
            {into, static_cast<size_t>(array.bytes())});
}

// One array of a reduce-scatter and its result blocks.
class Scatter {
 public:
  Scatter(const CrossSteps& steps, size_t a)
      : steps_(steps),
        round_(steps.round),
        a_(a),
        array_(round_.arrays->operands[a]) {
    reduced_ = round_.members[0].operands[a];
    if (round_.members.size() == 1) return;
    own_reduced_ = NewBytes(array_.bytes());
    reduced_ = own_reduced_.get();
    ReduceHere(round_, a, reduced_);
  }

  absl::Status Run() {
    if (steps_.group == nullptr) {
      for (const CrossMember& member : round_.members) {
        CopyBlock(Block(member.position), Result(member));
      }
      return absl::OkStatus();
    }
    return steps_.places.members_each() > 0 ? Even() : Uneven();
  }

 private:
  BlockView Block(size_t position) const {
    return Cut(reduced_, array_, round_.call->dimension, position,
               steps_.size());
  }
  BlockView Result(const CrossMember& member) const {
    return Whole(member.results[a_], round_.arrays->results[a_]);
  }
  int64_t block_bytes() const { return round_.arrays->results[a_].bytes(); }

  // Packs all blocks that a process needs, one after another.
  void Pack(const std::vector<size_t>& positions, std::byte* into) const {
    for (const size_t position : positions) {
      const BlockView block = Block(position);
      CopyBlock(block, DenseBlock(into, block.rows, block.row_bytes));
      into += block.bytes();
    }
  }

  // If every process has the same number of members.
  absl::Status Even() const {
    const std::byte* in = reduced_;
    Bytes packed;
    if (!steps_.places.in_order() || !Block(0).is_contiguous()) {
      packed = NewBytes(array_.bytes());
      std::byte* next = packed.get();
      for (const std::vector<size_t>& positions : steps_.places.positions) {
        Pack(positions, next);
        next += std::ssize(positions) * block_bytes();
      }
      in = packed.get();
    }
    const size_t out_bytes = round_.members.size() * block_bytes();
    const bool direct = round_.members.size() == 1;
    const Bytes out = direct ? nullptr : NewBytes(out_bytes);
    std::byte* to = direct ? round_.members[0].results[a_] : out.get();
    MW_RETURN_IF_ERROR(steps_.group->ReduceScatter(
        round_.call->op, array_.type, {in, static_cast<size_t>(array_.bytes())},
        {to, out_bytes}));
    if (!direct) Deliver(to);
    return absl::OkStatus();
  }

  absl::Status Uneven() const {
    const auto& processes = steps_.places.positions;
    const size_t here = steps_.places.here;
    const auto bytes_of = [&](size_t process) {
      return processes[process].size() * block_bytes();
    };
    std::vector<Bytes> buffers;
    std::vector<Group::Outgoing> sends;
    std::vector<Group::Incoming> receives;
    std::vector<const std::byte*> sources;
    for (size_t process = 0; process < processes.size(); ++process) {
      std::byte* out = buffers.emplace_back(NewBytes(bytes_of(process))).get();
      Pack(processes[process], out);
      if (process == here) {
        sources.push_back(out);
        continue;
      }
      std::byte* in = buffers.emplace_back(NewBytes(bytes_of(here))).get();
      const int rank = static_cast<int>(process);
      sends.push_back({rank, {out, bytes_of(process)}});
      receives.push_back({rank, {in, bytes_of(here)}});
      sources.push_back(in);
    }
    MW_RETURN_IF_ERROR(steps_.group->Exchange(sends, receives));
    const Bytes combined = NewBytes(bytes_of(here));
    ReduceAll(round_.call->op, array_.type, sources,
              {combined.get(), bytes_of(here)});
    Deliver(combined.get());
    return absl::OkStatus();
  }

  // Copies consecutive blocks to the local members.
  void Deliver(std::byte* blocks) const {
    for (const CrossMember& member : round_.members) {
      CopyBlock(DenseBlock(blocks, 1, block_bytes()), Result(member));
      blocks += block_bytes();
    }
  }

  const CrossSteps& steps_;
  const CrossRound& round_;
  const size_t a_;
  const CrossArrays::Array& array_;
  std::byte* reduced_ = nullptr;
  Bytes own_reduced_;
};

// Reduces the arrays `which`, all of one type, in one exchange.
absl::Status ReduceTogether(const CrossSteps& steps,
                            const std::vector<size_t>& which) {
  const CrossRound& round = steps.round;
  const auto& arrays = round.arrays->operands;
  int64_t bytes = 0;
  for (const size_t a : which) bytes += arrays[a].bytes();
  Bytes scratch;
  if (which.size() > 1) scratch = NewBytes(bytes);
  std::byte* const sum =
      scratch != nullptr ? scratch.get() : round.members[0].results[which[0]];
  std::byte* next = sum;
  for (const size_t a : which) {
    ReduceHere(round, a, next);
    next += arrays[a].bytes();
  }
  if (steps.group != nullptr) {
    MW_RETURN_IF_ERROR(
        steps.group->AllReduce(round.call->op, arrays[which[0]].type,
                               {sum, static_cast<size_t>(bytes)}));
  }
  next = sum;
  for (const size_t a : which) {
    for (const CrossMember& member : round.members) {
      CopyBlock(Whole(next, arrays[a]), Whole(member.results[a], arrays[a]));
    }
    next += arrays[a].bytes();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CrossSteps::AllReduce() const {
  std::map<ElementType, std::vector<size_t>> by_type;
  for (size_t a = 0; a < round.arrays->operands.size(); ++a) {
    by_type[round.arrays->operands[a].type].push_back(a);
  }
  for (const auto& [type, which] : by_type) {
    MW_RETURN_IF_ERROR(ReduceTogether(*this, which));
  }
  return absl::OkStatus();
}

absl::Status CrossSteps::ReduceScatter() const {
  for (size_t a = 0; a < round.arrays->operands.size(); ++a) {
    MW_RETURN_IF_ERROR(Scatter(*this, a).Run());
  }
  return absl::OkStatus();
}

}  // namespace meshwright
