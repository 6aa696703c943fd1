#include "meshwright/cost/value_buffers.h"

#include <algorithm>
#include <utility>

#include "meshwright/cost/fusible.h"

namespace meshwright {
namespace {

const TurnedInput* Turned(const Kernel& kernel, int32_t input) {
  for (const TurnedInput& turned : kernel.turned) {
    if (turned.input == input) return &turned;
  }
  return nullptr;
}

}  // namespace

ValueBuffers::ValueBuffers(const Computation& computation,
                           absl::Span<const Kernel> kernels, bool early_copies,
                           UnchangedLeaves& unchanged)
    : in_scratch(kernels.size(), 0),
      unchanged_(unchanged),
      leaves_(computation.size()) {
  std::vector<int32_t> kernel_of(computation.size(), Buffer::kNever);
  for (int32_t k = 0; k < std::ssize(kernels); ++k) {
    kernel_of[kernels[k].root->id] = k;
    for (const Instruction* result : kernels[k].more_results) {
      kernel_of[result->id] = k;
    }
  }
  for (const auto& instruction : computation.instructions()) {
    leaves_[instruction->id] =
        LeavesOf(*instruction, kernel_of[instruction->id]);
  }
  for (int32_t k = 0; k < std::ssize(kernels); ++k) {
    const Kernel& kernel = kernels[k];
    for (int32_t i = 0; i < std::ssize(kernel.inputs); ++i) {
      const bool copied =
          early_copies &&
          std::count(kernel.copied.begin(), kernel.copied.end(), i) > 0;
      const TurnedInput* turned = early_copies ? Turned(kernel, i) : nullptr;
      for (const int32_t leaf : leaves_[kernel.inputs[i]->id]) {
        Buffer& buffer = buffers[leaf];
        const int32_t made = std::max(buffer.defined, 0);
        if (turned != nullptr) {
          Share({.leaf = leaf,
                 .order = turned->order,
                 .bytes = buffer.bytes,
                 .made = made,
                 .read = k});
          continue;
        }
        buffer.last_read = std::max(buffer.last_read, copied ? made : k);
        if (!copied) continue;
        copies.push_back(
            {.leaf = leaf, .bytes = buffer.bytes, .made = made, .read = k});
        in_scratch[k] += buffer.bytes;
      }
    }
  }
  WriteTurned(computation, kernels);
}

void ValueBuffers::WriteTurned(const Computation& computation,
                               absl::Span<const Kernel> kernels) {
  absl::flat_hash_set<int32_t> results(leaves_[computation.root()->id].begin(),
                                       leaves_[computation.root()->id].end());
  const auto is_instead = [&](const Copy& copy) {
    Buffer& buffer = buffers[copy.leaf];
    if (copy.order.empty() || buffer.defined == Buffer::kNever ||
        buffer.last_read != Buffer::kNever || results.contains(copy.leaf) ||
        !IsFusible(*kernels[buffer.defined].root)) {
      return false;
    }
    buffer.last_read = copy.read;
    return true;
  };
  copies.erase(std::remove_if(copies.begin(), copies.end(), is_instead),
               copies.end());
  for (const Copy& copy : copies) {
    Buffer& buffer = buffers[copy.leaf];
    buffer.last_read = std::max(buffer.last_read, copy.made);
    if (!copy.order.empty() && buffer.defined != Buffer::kNever &&
        IsFusible(*kernels[buffer.defined].root)) {
      again.insert(buffer.defined);
    }
  }
}

void ValueBuffers::Share(Copy copy) {
  for (Copy& known : copies) {
    if (known.leaf != copy.leaf || known.order != copy.order) continue;
    known.read = std::max(known.read, copy.read);
    return;
  }
  copies.push_back(std::move(copy));
}

std::vector<int32_t> ValueBuffers::NewBuffers(const Shape& shape,
                                              Buffer buffer) {
  std::vector<int32_t> leaves;
  for (const Shape* leaf : Leaves(shape)) {
    buffer.bytes = ByteSize(*leaf);
    leaves.push_back(static_cast<int32_t>(buffers.size()));
    buffers.push_back(buffer);
  }
  return leaves;
}

std::vector<int32_t> ValueBuffers::LeavesOfLoop(const Instruction& loop,
                                                int32_t kernel) {
  std::vector<int32_t> leaves = leaves_[loop.operands[0]->id];
  const std::vector<bool>& unchanged = unchanged_.Of(loop);
  const std::vector<const Shape*> shapes = Leaves(loop.shape);
  if (leaves.size() != shapes.size()) {  // A flat tuple.
    return NewBuffers(loop.shape, {.defined = kernel});
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!unchanged[i]) {
      leaves[i] = NewBuffers(*shapes[i], {.defined = kernel})[0];
    }
  }
  return leaves;
}

std::vector<int32_t> ValueBuffers::LeavesOf(const Instruction& instruction,
                                            int32_t kernel) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return NewBuffers(instruction.shape, {.external = true});
    case Opcode::kTuple: {
      std::vector<int32_t> leaves;
      for (const Instruction* operand : instruction.operands) {
        const auto& part = leaves_[operand->id];
        leaves.insert(leaves.end(), part.begin(), part.end());
      }
      return leaves;
    }
    case Opcode::kGetTupleElement: {
      const auto& tuple = instruction.operand_shape(0).tuple_shapes;
      const int64_t index = instruction.attributes->tuple_index;
      const auto& all = leaves_[instruction.operands[0]->id];
      if (all.size() == tuple.size()) return {all[index]};  // Fused away.
      size_t first = 0;
      for (int64_t i = 0; i < index; ++i) first += Leaves(tuple[i]).size();
      const size_t count = Leaves(tuple[index]).size();
      if (first + count > all.size()) return {};
      return {all.begin() + first, all.begin() + first + count};
    }
    default:
      break;
  }
  if (kernel != Buffer::kNever) {
    if (instruction.opcode == Opcode::kWhile) {
      return LeavesOfLoop(instruction, kernel);
    }
    return NewBuffers(instruction.shape, {.defined = kernel});
  }
  if (IsFree(instruction) && !instruction.operands.empty()) {
    return leaves_[instruction.operands[0]->id];
  }
  return {};  // Fused away.
}

// Small kernels find their arrays in caches: memory is faster by this factor up
// to the first size, and no faster from the second on.
}  // namespace meshwright
