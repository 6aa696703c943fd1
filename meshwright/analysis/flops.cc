#include "meshwright/analysis/flops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/hlo/scaled_dot_numbers.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/gemm_calls.h"
#include "meshwright/rules/island.h"
#include "meshwright/rules/recorded_flops.h"

namespace meshwright {
namespace {

double Elements(const Shape& shape) {
  if (shape.IsArray()) return static_cast<double>(ElementCount(shape));
  double elements = 0;
  for (const Shape* leaf : Leaves(shape)) {
    if (leaf->IsArray()) elements += static_cast<double>(ElementCount(*leaf));
  }
  return elements;
}

double Bytes(const Shape& shape) {
  return static_cast<double>(ByteSize(shape));
}

double OperandBytes(const Instruction& instruction) {
  double bytes = 0;
  for (const Instruction* operand : instruction.operands) {
    bytes += Bytes(operand->shape);
  }
  return bytes;
}

double OperandElements(const Instruction& instruction, size_t begin,
                       size_t end) {
  double elements = 0;
  for (size_t i = begin; i < end && i < instruction.operands.size(); ++i) {
    elements += Elements(instruction.operand_shape(i));
  }
  return elements;
}

bool HasDimension(const Shape& shape, int64_t dimension) {
  return dimension >= 0 && dimension < shape.rank();
}

// Each element of the ragged dimension belongs to one group.
double RaggedDotFlops(const Instruction& instruction) {
  const absl::StatusOr<RaggedDotNumbers> numbers =
      RaggedDotNumbersOf(instruction);
  if (!numbers.ok()) return 0;
  const Shape& rhs = instruction.operand_shape(1);
  double flops = 2 * Elements(instruction.operand_shape(0));
  for (const int64_t dimension : numbers->rhs_free) {
    flops *= static_cast<double>(rhs.dimensions[dimension]);
  }
  return flops;
}

double DotFlops(const Instruction& dot,
                const std::optional<DotDimensionNumbers>& numbers) {
  const Shape& lhs = dot.operand_shape(0);
  double contracted = 1;
  if (numbers.has_value()) {
    for (int64_t dimension : numbers->lhs_contracting) {
      if (!HasDimension(lhs, dimension)) continue;
      contracted *= static_cast<double>(lhs.dimensions[dimension]);
    }
  } else if (lhs.rank() > 0) {
    contracted = static_cast<double>(lhs.dimensions.back());
  }
  return 2 * Elements(dot.shape) * contracted;
}

// How many of first, first + step, ... (`count` numbers) lie in [0, limit) and
// are multiples of `divisor`. Requires: step, divisor at least 1.
int64_t CountMultiples(__int128 first, __int128 step, int64_t count,
                       __int128 limit, int64_t divisor) {
  const auto ceil_divide = [](__int128 a, __int128 b) {
    return a <= 0 ? -(-a / b) : (a + b - 1) / b;
  };
  __int128 begin = std::max<__int128>(0, ceil_divide(-first, step));
  const __int128 end =
      std::min<__int128>(count, ceil_divide(limit - first, step));
  // Multiples recur after `period` steps, if at all.
  const int64_t period =
      divisor / std::gcd(divisor, static_cast<int64_t>(step % divisor));
  for (int64_t i = 0; i < period && begin < end; ++i, ++begin) {
    if ((first + begin * step) % divisor != 0) continue;
    return static_cast<int64_t>((end - begin + period - 1) / period);
  }
  return 0;
}

// Pairs (output position, filter tap) along one dimension that meet an input
// element.
double ValidTaps(int64_t input, int64_t output, const WindowDimension& window) {
  constexpr int64_t kMaxCounted = 1 << 22;
  if (window.base_dilation < 1 || window.stride < 1 ||
      window.window_dilation < 1 ||
      std::min(output, window.size) > kMaxCounted / window.base_dilation) {
    return static_cast<double>(output) * static_cast<double>(window.size);
  }
  const __int128 dilated = __int128{input - 1} * window.base_dilation + 1;
  // Iterates over the shorter of the two and counts along the other.
  const bool by_output = output < window.size;
  const int64_t one = by_output ? window.stride : window.window_dilation;
  const int64_t other = by_output ? window.window_dilation : window.stride;
  double valid = 0;
  for (int64_t i = 0; i < std::min(output, window.size); ++i) {
    const __int128 first = __int128{i} * one - window.padding_low;
    valid += static_cast<double>(CountMultiples(first, other,
                                                std::max(output, window.size),
                                                dilated, window.base_dilation));
  }
  return valid;
}

double ConvolutionFlops(const Instruction& convolution) {
  const Shape& kernel = convolution.operand_shape(1);
  const Shape& input = convolution.operand_shape(0);
  const Shape& output = convolution.shape;
  const auto& numbers = convolution.attributes->convolution;
  const auto& window = convolution.attributes->window;
  if (!numbers || !HasDimension(kernel, numbers->kernel_input_feature) ||
      !HasDimension(output, numbers->output_batch) ||
      !HasDimension(output, numbers->output_feature)) {
    return 0;
  }
  double flops =
      2.0 *
      static_cast<double>(kernel.dimensions[numbers->kernel_input_feature]) *
      static_cast<double>(output.dimensions[numbers->output_batch]) *
      static_cast<double>(output.dimensions[numbers->output_feature]);
  for (size_t i = 0; i < numbers->output_spatial.size(); ++i) {
    if (!window || i >= window->dimensions.size() ||
        i >= numbers->input_spatial.size() ||
        !HasDimension(input, numbers->input_spatial[i]) ||
        !HasDimension(output, numbers->output_spatial[i])) {
      return 0;
    }
    flops *= ValidTaps(input.dimensions[numbers->input_spatial[i]],
                       output.dimensions[numbers->output_spatial[i]],
                       window->dimensions[i]);
  }
  return flops;
}

// Whether the window is a running sum: all elements up to one of `size`, or
// from one on. Compilers sum pieces of 16 elements, and add the sum of the
// pieces before each.
bool IsRunning(const WindowDimension& d, int64_t size) {
  return d.size == size &&
         std::max(d.padding_low, d.padding_high) == size - 1 && d.stride == 1 &&
         d.window_dilation == 1 && d.base_dilation == 1;
}
constexpr int64_t kRunningPiece = 16;

double WindowElements(const Instruction& instruction) {
  double elements = 1;
  if (!instruction.attributes->window) return elements;
  const auto& window = instruction.attributes->window->dimensions;
  const auto& sizes = instruction.operand_shape(0).dimensions;
  for (size_t i = 0; i < window.size(); ++i) {
    const bool is_running = i < sizes.size() && IsRunning(window[i], sizes[i]);
    elements *= static_cast<double>(
        is_running ? std::min(window[i].size, kRunningPiece + 1)
                   : window[i].size);
  }
  return elements;
}

double SortFlops(const Instruction& sort) {
  if (sort.operands.empty()) return 0;
  const Shape& shape = sort.operand_shape(0);
  const int64_t dimension =
      sort.attributes->dimensions.empty() ? 0 : sort.attributes->dimensions[0];
  if (!HasDimension(shape, dimension)) return 0;
  const double n = static_cast<double>(shape.dimensions[dimension]);
  return n < 2 ? 0 : Elements(shape) * std::ceil(std::log2(n));
}

double OtherFlops(const Instruction& instruction) {
  const size_t operands = instruction.operands.size();
  if (operands == 0) return 0;
  switch (instruction.opcode) {
    case Opcode::kConvolution:
      return operands == 2 ? ConvolutionFlops(instruction) : 0;
    case Opcode::kCustomCall: {
      const auto attention = ReadFusedAttention(instruction);
      if (attention.has_value()) return attention->Flops();
      return IsBlockScaledDot(instruction)
                 ? DotFlops(instruction, ScaledDotNumbersOf(instruction))
                 : LibraryGemmFlops(instruction) +
                       GroupedGemmFlops(instruction);
    }
    case Opcode::kRaggedDot:
      return RaggedDotFlops(instruction);
    case Opcode::kReduce:
      return OperandElements(instruction, 0, operands / 2);
    case Opcode::kReduceWindow:
      return Elements(instruction.shape) * WindowElements(instruction);
    case Opcode::kSelectAndScatter:
      return OperandElements(instruction, 1, 2) * WindowElements(instruction);
    case Opcode::kScatter:
      return OperandElements(instruction, operands / 2 + 1, operands);
    case Opcode::kSort:
      return SortFlops(instruction);
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      return OperandElements(instruction, 0, 1);
    case Opcode::kDot:
    case Opcode::kScaledDot:
      return DotFlops(instruction, instruction.attributes->dot);
    default:
      return 0;
  }
}

double TouchedBytes(const Instruction& instruction) {
  const auto operand = [&](size_t i) {
    return i < instruction.operands.size() ? Bytes(instruction.operand_shape(i))
                                           : 0.0;
  };
  const size_t half = instruction.operands.size() / 2;
  if (IsNoOp(instruction.opcode)) return 0;
  switch (instruction.opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
      return 2 * Bytes(instruction.shape);
    case Opcode::kGather:
      return 2 * Bytes(instruction.shape) + operand(1);
    case Opcode::kDynamicUpdateSlice:
      return 2 * operand(1);
    case Opcode::kScatter: {
      double bytes = operand(half);
      for (size_t i = half + 1; i < instruction.operands.size(); ++i) {
        bytes += 3 * operand(i);
      }
      return bytes;
    }
    default:
      return OperandBytes(instruction) + Bytes(instruction.shape);
  }
}

// The work of the instruction itself, without the computations it calls.
Work OwnWork(const Instruction& instruction) {
  Work work{.bytes = TouchedBytes(instruction)};
  if (IsTranscendental(instruction.opcode)) {
    work.transcendentals = Elements(instruction.shape);
  } else if (IsArithmetic(instruction.opcode)) {
    work.flops = Elements(instruction.shape);
  } else {
    work.flops = OtherFlops(instruction);
  }
  return work;
}

}  // namespace

bool IsContraction(const Instruction& instruction) {
  return IsContraction(instruction.opcode) || IsFusedAttention(instruction) ||
         IsBlockScaledDot(instruction) || IsLibraryGemm(instruction) ||
         IsGroupedGemm(instruction) ||
         (RecordedFlops(instruction).value_or(0) > 0 &&
          !instruction.operands.empty());
}

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  transcendentals += other.transcendentals;
  bytes += other.bytes;
  return *this;
}

Work operator*(double count, const Work& work) {
  return {count * work.flops, count * work.transcendentals, count * work.bytes};
}

namespace {

// The work of a shard_map region: its body, on each of its devices.
Work OfIsland(const Instruction& instruction, const ModuleWork& work) {
  const absl::StatusOr<Island> island = IslandOf(instruction);
  if (!island.ok()) return {};
  return static_cast<double>(island->mesh.device_count()) *
         work.Of(*instruction.called[0]);
}

}  // namespace

ModuleWork::ModuleWork(const Module& module) {
  // Callees come before their callers.
  for (const auto& computation : module.computations()) {
    Work sum;
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode == Opcode::kWhile) {
        const std::optional<int64_t> count = TripCount(*instruction);
        if (!count) ++unknown_loops_;
        trip_counts_[instruction.get()] = count.value_or(1);
      }
      sum += Of(*instruction);
    }
    computations_[computation.get()] = sum;
  }
  if (module.entry() != nullptr) total_ = Of(*module.entry());
}

Work ModuleWork::Of(const Computation& computation) const {
  const auto it = computations_.find(&computation);
  return it == computations_.end() ? Work() : it->second;
}

Work ModuleWork::Of(const Instruction& instruction) const {
  Work work;
  switch (instruction.opcode) {
    case Opcode::kCall:
    case Opcode::kAsyncStart:
    case Opcode::kWhile:
      for (const Computation* callee : instruction.called) work += Of(*callee);
      break;
    case Opcode::kConditional:
      for (const Computation* branch : instruction.called) {
        const Work candidate = Of(*branch);
        if (candidate.flops >= work.flops) work = candidate;
      }
      return work;
    case Opcode::kCustomCall:
      if (const std::optional<double> flops = RecordedFlops(instruction)) {
        return {.flops = *flops, .bytes = TouchedBytes(instruction)};
      }
      if (const Computation* body = KernelBody(instruction)) return Of(*body);
      return IsIsland(instruction) ? OfIsland(instruction, *this)
                                   : OwnWork(instruction);
    case Opcode::kFusion:
      for (const Computation* callee : instruction.called) work += Of(*callee);
      work.bytes = TouchedBytes(instruction);
      return work;
    case Opcode::kMap:
      if (!instruction.called.empty()) {
        work = Elements(instruction.shape) * Of(*instruction.called[0]);
      }
      work.bytes = TouchedBytes(instruction);
      return work;
    default:
      return OwnWork(instruction);
  }
  const auto count = trip_counts_.find(&instruction);
  if (count == trip_counts_.end()) return work;
  if (count->second == 0) return {};
  return static_cast<double>(count->second) * work;
}

}  // namespace meshwright
