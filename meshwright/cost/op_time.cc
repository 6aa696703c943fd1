#include "meshwright/cost/op_time.h"

#include <algorithm>
#include <cmath>

#include "meshwright/analysis/flops.h"
#include "meshwright/cost/ragged_work.h"

namespace meshwright {
namespace {

double Over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

// Share of the shorter of computing and reading that the longer one does not
// hide.
constexpr double kBeside = 0.05;

// Time to move `bytes` as part of the `kernel_bytes` that a kernel moves.
double MemorySeconds(double bytes, double kernel_bytes, const LocalWork& local,
                     const Rates& rates) {
  double share = local.strided ? rates.strided_share.value : 1;
  // It reads its other arrays in the order of the gradient's elements, too.
  if (local.turns_filter) share *= rates.strided_share.value;
  // Narrow loads slow down what is read as rows less than tiles of matmuls.
  if (local.unaligned) {
    share *= local.unit == Unit::kContraction
                 ? rates.unaligned_share.value
                 : std::sqrt(rates.unaligned_share.value);
  }
  return bytes == 0 ? 0 : Over(bytes, share * rates.memory.At(kernel_bytes));
}

double WindowSeconds(const ConvolutionWindows& windows, const Rates& rates) {
  return windows.elements * rates.window_elements.At(windows.side_by_side) *
         (windows.gaps ? rates.window_gaps.value : 1);
}

// Libraries run a convolution of groups group by group, unless each has one
// channel.
double LaunchesOf(const Instruction& convolution) {
  const Attributes& attributes = *convolution.attributes;
  const int64_t groups =
      std::max(attributes.feature_group_count, attributes.batch_group_count);
  const auto& numbers = attributes.convolution;
  if (groups <= 1 || !numbers) return 1;
  // In the gradient of a filter, channels are the batch.
  const int64_t channels =
      attributes.feature_group_count > 1
          ? convolution.operand_shape(1)
                .dimensions[numbers->kernel_input_feature]
          : convolution.operand_shape(0).dimensions[numbers->input_batch] /
                groups;
  return channels == 1 ? 1 : static_cast<double>(groups);
}

}  // namespace

Unit UnitOf(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kConvolution) return Unit::kConvolution;
  return IsContraction(instruction) ? Unit::kContraction : Unit::kVector;
}

LocalWork LocalWorkOf(const Instruction& instruction, const Work& work,
                      const LocalSizes& sizes) {
  LocalWork local{.unit = UnitOf(instruction), .work = work};
  if (local.unit == Unit::kVector) return local;
  if (!instruction.operands.empty()) {
    local.type = instruction.operand_shape(0).element_type;
  }
  if (const auto& numbers = instruction.attributes->dot) {
    for (const int64_t dimension : numbers->lhs_batch) {
      local.batch *= static_cast<double>(sizes.lhs[dimension]);
    }
    local.batch = std::max(local.batch, 1.0);
    local.unaligned =
        IsUnaligned(local.type, sizes.lhs) ||
        IsUnaligned(instruction.operand_shape(1).element_type, sizes.rhs) ||
        IsUnaligned(instruction.shape.element_type, sizes.result);
  }
  if (local.unit == Unit::kConvolution && instruction.operands.size() == 2) {
    local.windows = WindowsOf(instruction, sizes.lhs, sizes.rhs, sizes.result);
    local.launches = LaunchesOf(instruction);
  }
  if (const auto blocked = BlockedWorkOf(instruction, sizes)) {
    local.work.flops *= blocked->times;
    local.repacked_bytes = blocked->bytes;
  }
  return local;
}

double FusedSeconds(const LocalWork& local, const Rates& rates) {
  const double flops = local.work.flops;
  if (local.unit == Unit::kVector) {
    return Over(flops, rates.vector_flops.value) +
           Over(local.work.transcendentals, rates.transcendentals.value);
  }
  const double share =
      (local.unit == Unit::kConvolution ? rates.convolution_share.value : 1) *
      (local.unaligned ? rates.unaligned_share.value : 1);
  const double together = rates.batch_together.value;
  const double alone = together + (1 - together) * local.batch;
  const double starting = local.unit == Unit::kConvolution
                              ? local.launches * rates.convolution_seconds.value
                              : 0;
  return WindowSeconds(local.windows, rates) + starting +
         Over(flops, share * rates.Matmul(local.type).At(flops / alone));
}

double WorkSeconds(const LocalWork& local, double memory, const Rates& rates) {
  const double arithmetic = FusedSeconds(local, rates);
  if (local.unit == Unit::kVector && local.holds_rows) {
    return arithmetic + memory;
  }
  const double slower =
      std::max({arithmetic, memory,
                local.column_steps * rates.column_step_seconds.value});
  if (local.unit != Unit::kContraction) return slower;
  // Read once and written once, before or after the kernel.
  const double bytes = 2 * local.repacked_bytes;
  const double packing =
      Over(bytes, rates.strided_share.value * rates.memory.At(bytes));
  const double alone = 1 - rates.batch_together.value;
  return slower + alone * std::min(arithmetic, memory) + packing;
}

double KernelSeconds(const LocalWork& local, const Rates& rates) {
  const double bytes = local.work.bytes;
  return rates.op_seconds.value +
         WorkSeconds(local, MemorySeconds(bytes, bytes, local, rates), rates);
}

double KernelSeconds(const Kernel& kernel, const Rates& rates, double devices) {
  const Instruction& root = *kernel.root;
  LocalWork local = LocalWorkOf(root, 1 / devices * kernel.work, SizesOf(root));
  local.repacked_bytes /= devices;
  local.strided = kernel.strided;
  local.turns_filter = kernel.turns_filter;
  local.holds_rows = kernel.holds_rows;
  local.unaligned = local.unaligned || kernel.unaligned_rows;
  local.column_steps = kernel.column_steps / devices;
  for (const int32_t input : kernel.repacked) {
    local.repacked_bytes +=
        static_cast<double>(ByteSize(kernel.inputs[input]->shape)) / devices;
  }
  double seconds = KernelSeconds(local, rates);
  if (kernel.scratch_bytes > 0) {
    // Read and written in addition.
    const double bytes =
        2 * static_cast<double>(kernel.scratch_bytes) / devices;
    seconds += KernelSeconds(
        LocalWork{.work = {.bytes = bytes}, .strided = true}, rates);
  }
  return seconds;
}

double PartSeconds(const KernelPart& part, const Rates& rates) {
  const LocalWork& local = part.local;
  const double bytes = local.work.bytes;
  const auto moving = [&](double amount, double kernel_bytes) {
    return MemorySeconds(amount, kernel_bytes, local, rates);
  };
  const double start = part.is_start ? rates.op_seconds.value : 0;
  if (local.unit != Unit::kVector) {
    // Whether the op counts with its arithmetic or with its memory traffic
    // depends on which of them bounds the whole kernel.
    const double copied = 2 * part.scratch_bytes;
    return start + moving(copied / rates.strided_share.value, copied) +
           WorkSeconds(local, moving(bytes, bytes), rates);
  }
  // Of a kernel, that counts which the whole of it waits for.
  const double arithmetic = part.kernels * FusedSeconds(local, rates);
  const double memory = moving(bytes, part.kernel.bytes);
  const bool computes = FusedSeconds({.work = part.kernel}, rates) >
                        moving(part.kernel.bytes, part.kernel.bytes);
  if (local.holds_rows) return start + arithmetic + memory;
  const double steps = local.column_steps * rates.column_step_seconds.value;
  return start + std::max(steps, computes ? arithmetic + kBeside * memory
                                          : memory + kBeside * arithmetic);
}

}  // namespace meshwright
