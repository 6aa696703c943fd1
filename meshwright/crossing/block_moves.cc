#include "meshwright/crossing/block_moves.h"

#include <map>
#include <memory>
#include <vector>

#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Blocks that are sent as one message.
struct Message {
  std::vector<BlockView> blocks;
  std::unique_ptr<std::byte[]> scratch;

  // The bytes of the message: the only block, or a buffer for all blocks.
  absl::Span<std::byte> Bytes() {
    if (blocks.size() == 1 && blocks[0].is_contiguous()) {
      return blocks[0].span();
    }
    size_t bytes = 0;
    for (const BlockView& block : blocks) bytes += block.bytes();
    if (scratch == nullptr) {
      scratch = std::make_unique_for_overwrite<std::byte[]>(bytes);
    }
    return {scratch.get(), bytes};
  }

  // Calls copy(block, packed) for all blocks, unless the only block is sent
  // from, or received into, its own memory.
  template <typename Copy>
  void ForPacked(Copy copy) {
    if (scratch == nullptr) return;
    std::byte* next = scratch.get();
    for (const BlockView& block : blocks) {
      copy(block, DenseBlock(next, block.rows, block.row_bytes));
      next += block.bytes();
    }
  }
};

}  // namespace

absl::Status MoveBlocks(absl::Span<const BlockMove> moves, size_t here,
                        MeteredGroup* group) {
  std::map<size_t, Message> outgoing;
  std::map<size_t, Message> incoming;
  for (const BlockMove& move : moves) {
    if (move.from == here && move.to == here) {
      CopyBlock(move.source, move.target);
    } else if (move.from == here) {
      outgoing[move.to].blocks.push_back(move.source);
    } else if (move.to == here) {
      incoming[move.from].blocks.push_back(move.target);
    }
  }
  if (group == nullptr) return absl::OkStatus();
  std::vector<Group::Outgoing> sends;
  for (auto& [to, message] : outgoing) {
    sends.push_back({static_cast<int>(to), message.Bytes()});
    message.ForPacked([](const BlockView& block, const BlockView& packed) {
      CopyBlock(block, packed);
    });
  }
  std::vector<Group::Incoming> receives;
  for (auto& [from, message] : incoming) {
    receives.push_back({static_cast<int>(from), message.Bytes()});
  }
  MW_RETURN_IF_ERROR(group->Exchange(sends, receives));
  for (auto& [from, message] : incoming) {
    message.ForPacked([](const BlockView& block, const BlockView& packed) {
      CopyBlock(packed, block);
    });
  }
  return absl::OkStatus();
}

}  // namespace meshwright
