// Collectives that only move data.
#include <algorithm>
#include <memory>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/block_moves.h"
#include "meshwright/crossing/cross_steps.h"

namespace meshwright {
namespace {

// Adds the move between two members if one of them is local. `source` and
// `target` return the block of a local member.
template <typename Source, typename Target>
void AddMove(const CrossSteps& steps, size_t from, size_t to, Source source,
             Target target, std::vector<BlockMove>& moves) {
  const CrossMember* sender = steps.Find(from);
  const CrossMember* receiver = steps.Find(to);
  if (sender == nullptr && receiver == nullptr) return;
  BlockMove& move = moves.emplace_back();
  move.from = steps.places.process_of[from];
  move.to = steps.places.process_of[to];
  if (sender != nullptr) move.source = source(*sender);
  if (receiver != nullptr) move.target = target(*receiver);
}

// The same of all operands of one member, whole: its results at the other.
void AddWholeMoves(const CrossSteps& steps, size_t from, size_t to,
                   std::vector<BlockMove>& moves) {
  const CrossArrays& arrays = *steps.round.arrays;
  for (size_t a = 0; a < arrays.operands.size(); ++a) {
    AddMove(
        steps, from, to,
        [&](const CrossMember& member) {
          return Whole(member.operands[a], arrays.operands[a]);
        },
        [&](const CrossMember& member) {
          return Whole(member.results[a], arrays.results[a]);
        },
        moves);
  }
}

// One message from each process holds everything that its members contribute.
absl::Status GatherBlocks(const CrossSteps& steps) {
  const CrossRound& round = steps.round;
  const CrossArrays& arrays = *round.arrays;
  const size_t count = arrays.operands.size();
  const CrossMember& first = round.members[0];
  std::vector<BlockView> own;
  for (const CrossMember& member : round.members) {
    for (size_t a = 0; a < count; ++a) {
      own.push_back(Whole(member.operands[a], arrays.operands[a]));
    }
  }
  size_t bytes = 0;
  for (const BlockView& block : own) bytes += block.bytes();
  const auto result = [&](size_t a, size_t position) {
    return Cut(first.results[a], arrays.results[a], round.call->dimension,
               position, steps.size());
  };
  // The wire can write directly into the result.
  const bool direct =
      count == 1 && steps.places.in_order() && result(0, 0).rows == 1;
  const size_t all_bytes = bytes * steps.places.processes.size();
  std::unique_ptr<std::byte[]> out;
  if (!direct) out = std::make_unique_for_overwrite<std::byte[]>(all_bytes);
  std::unique_ptr<std::byte[]> in;
  if (own.size() > 1) {
    in = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* next = in.get();
    for (const BlockView& block : own) {
      CopyBlock(block, DenseBlock(next, 1, block.bytes()));
      next += block.bytes();
    }
  }
  MW_RETURN_IF_ERROR(steps.group->AllGather(
      {in != nullptr ? in.get() : own[0].data, bytes},
      {direct ? first.results[0] : out.get(), all_bytes}));
  if (direct) return absl::OkStatus();
  std::byte* next = out.get();
  for (const std::vector<size_t>& positions : steps.places.positions) {
    for (const size_t position : positions) {
      for (size_t a = 0; a < count; ++a) {
        const BlockView to = result(a, position);
        CopyBlock(DenseBlock(next, to.rows, to.row_bytes), to);
        next += to.bytes();
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CrossSteps::AllGather() const {
  const CrossArrays& arrays = *round.arrays;
  if (group != nullptr && places.members_each() > 0) {
    MW_RETURN_IF_ERROR(GatherBlocks(*this));
    CopyFirstResults();
    return absl::OkStatus();
  }
  // Once to each process: to its first member.
  std::vector<BlockMove> moves;
  for (size_t from = 0; from < size(); ++from) {
    for (const std::vector<size_t>& positions : places.positions) {
      for (size_t a = 0; a < arrays.operands.size(); ++a) {
        AddMove(
            *this, from, positions[0],
            [&](const CrossMember& member) {
              return Whole(member.operands[a], arrays.operands[a]);
            },
            [&](const CrossMember& member) {
              return Cut(member.results[a], arrays.results[a],
                         round.call->dimension, from, size());
            },
            moves);
      }
    }
  }
  MW_RETURN_IF_ERROR(MoveBlocks(moves, places.here, group));
  CopyFirstResults();
  return absl::OkStatus();
}

absl::Status CrossSteps::AllToAll() const {
  const CrossArrays& arrays = *round.arrays;
  const int64_t dimension = round.call->dimension;
  std::vector<BlockMove> moves;
  for (size_t from = 0; from < size(); ++from) {
    for (size_t to = 0; to < size(); ++to) {
      AddMove(
          *this, from, to,
          [&](const CrossMember& member) {
            return dimension < 0
                       ? Whole(member.operands[to], arrays.operands[to])
                       : Cut(member.operands[0], arrays.operands[0], dimension,
                             to, size());
          },
          [&](const CrossMember& member) {
            return dimension < 0
                       ? Whole(member.results[from], arrays.results[from])
                       : Cut(member.results[0], arrays.results[0], dimension,
                             from, size());
          },
          moves);
    }
  }
  return MoveBlocks(moves, places.here, group);
}

absl::Status CrossSteps::Permute() const {
  const CrossArrays& arrays = *round.arrays;
  std::vector<bool> receives(size(), false);
  std::vector<BlockMove> moves;
  for (const auto& [source, target] : round.call->pairs) {
    const auto is_member = [&](const CrossGroup::Member& member) {
      return member.device == source;
    };
    if (std::ranges::none_of(round.group->members, is_member)) continue;
    const size_t from = PositionOf(source, *round.group);
    const size_t to = PositionOf(target, *round.group);
    receives[to] = true;
    AddWholeMoves(*this, from, to, moves);
  }
  for (const CrossMember& member : round.members) {
    if (receives[member.position]) continue;
    SetZero(member, arrays);
  }
  return MoveBlocks(moves, places.here, group);
}

absl::Status CrossSteps::Broadcast() const {
  std::vector<BlockMove> moves;
  for (const std::vector<size_t>& positions : places.positions) {
    AddWholeMoves(*this, 0, positions[0], moves);
  }
  MW_RETURN_IF_ERROR(MoveBlocks(moves, places.here, group));
  CopyFirstResults();
  return absl::OkStatus();
}

}  // namespace meshwright
