#include "meshwright/cost/op_time.h"

#include <algorithm>

#include "meshwright/analysis/flops.h"

namespace meshwright {
namespace {

double Over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

bool IsUnaligned(const Shape& shape) {
  return meshwright::IsUnaligned(shape.element_type, shape.dimensions);
}

double WindowSeconds(const ConvolutionWindows& windows, const Rates& rates) {
  return windows.elements * rates.window_elements.At(windows.side_by_side) *
         (windows.gaps ? rates.window_gaps.value : 1);
}

}  // namespace

Unit UnitOf(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kConvolution) return Unit::kConvolution;
  return IsContraction(instruction) ? Unit::kContraction : Unit::kVector;
}

double BatchOf(const Instruction& instruction) {
  double batch = 1;
  const auto& numbers = instruction.attributes->dot;
  if (!numbers || instruction.operands.empty()) return batch;
  for (const int64_t dimension : numbers->lhs_batch) {
    batch *=
        static_cast<double>(instruction.operand_shape(0).dimensions[dimension]);
  }
  return std::max(batch, 1.0);
}

bool IsUnaligned(ElementType type, absl::Span<const int64_t> sizes) {
  constexpr int64_t kRowBits = 128;
  return !sizes.empty() && sizes.back() * BitWidth(type) % kRowBits != 0;
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
  return WindowSeconds(local.windows, rates) +
         Over(flops, share * rates.Matmul(local.type).At(flops / alone));
}

double WorkSeconds(const LocalWork& local, double memory, const Rates& rates) {
  const double arithmetic = FusedSeconds(local, rates);
  const double slower = std::max(arithmetic, memory);
  if (local.unit != Unit::kContraction) return slower;
  // Read and written.
  const double bytes = 2 * local.repacked_bytes;
  const double packing =
      Over(bytes, rates.strided_share.value * rates.memory.At(bytes));
  const double alone = 1 - rates.batch_together.value;
  return slower + alone * std::min(arithmetic, memory) + packing;
}

double KernelSeconds(const LocalWork& local, const Rates& rates) {
  const double bytes = local.work.bytes;
  const double share = local.strided ? rates.strided_share.value : 1;
  const double memory = Over(bytes, share * rates.memory.At(bytes));
  return rates.op_seconds.value + WorkSeconds(local, memory, rates);
}

double KernelSeconds(const Kernel& kernel, const Rates& rates, double devices) {
  LocalWork local{.unit = UnitOf(*kernel.root),
                  .work = 1 / devices * kernel.work,
                  .batch = BatchOf(*kernel.root),
                  .strided = kernel.strided};
  if (local.unit == Unit::kConvolution) local.windows = WindowsOf(*kernel.root);
  if (!kernel.root->operands.empty()) {
    local.type = kernel.root->operand_shape(0).element_type;
  }
  if (kernel.root->opcode == Opcode::kDot) {
    local.unaligned = IsUnaligned(kernel.root->shape) ||
                      IsUnaligned(kernel.root->operand_shape(0)) ||
                      IsUnaligned(kernel.root->operand_shape(1));
  }
  for (const int32_t input : kernel.repacked) {
    local.repacked_bytes +=
        static_cast<double>(ByteSize(kernel.inputs[input]->shape)) / devices;
  }
  double seconds = KernelSeconds(local, rates);
  if (kernel.scratch_bytes > 0) {
    // Read and written, before or after.
    const double bytes =
        2 * static_cast<double>(kernel.scratch_bytes) / devices;
    seconds += KernelSeconds(
        LocalWork{.work = {.bytes = bytes}, .strided = true}, rates);
  }
  return seconds;
}

}  // namespace meshwright
