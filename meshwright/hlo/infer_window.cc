// Sliding windows: reduce-window, select-and-scatter.
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/window_size.h"

namespace meshwright {
namespace {

// (size - 1) * dilation + 1, or 0 for size 0.
std::optional<int64_t> Dilated(int64_t size, int64_t dilation) {
  if (size <= 0) return 0;
  int64_t result;
  if (__builtin_mul_overflow(size - 1, dilation, &result) ||
      __builtin_add_overflow(result, 1, &result)) {
    return std::nullopt;
  }
  return result;
}

absl::StatusOr<std::vector<int64_t>> AllPlaces(const Instruction& instruction,
                                               const Shape& base) {
  const Window& window = WindowOrEmpty(instruction.attributes->window);
  if (std::ssize(window.dimensions) != base.rank()) {
    return Bad("wrong number of window dimensions; expected ", base.rank(),
               ", got ", window.dimensions.size());
  }
  std::vector<int64_t> places(window.dimensions.size());
  for (size_t i = 0; i < places.size(); ++i) {
    absl::StatusOr<int64_t> count =
        WindowPlaces(base.dimensions[i], window.dimensions[i]);
    if (!count.ok()) {
      return Annotate(count.status(), absl::StrCat("window dimension ", i));
    }
    places[i] = *count;
  }
  return places;
}

}  // namespace

const Window& WindowOrEmpty(const std::optional<Window>& window) {
  static const Window* const empty = new Window();
  return window.has_value() ? *window : *empty;
}

absl::StatusOr<int64_t> WindowPlaces(int64_t base,
                                     const WindowDimension& window) {
  if (window.size < 1 || window.stride < 1 || window.window_dilation < 1 ||
      window.base_dilation < 1) {
    return Bad("size, stride and dilations must be positive; got ", window.size,
               ", ", window.stride, ", ", window.window_dilation, " and ",
               window.base_dilation);
  }
  const std::optional<int64_t> dilated = Dilated(base, window.base_dilation);
  const std::optional<int64_t> size =
      Dilated(window.size, window.window_dilation);
  int64_t padded;
  if (!dilated || !size ||
      __builtin_add_overflow(*dilated, window.padding_low, &padded) ||
      __builtin_add_overflow(padded, window.padding_high, &padded)) {
    return Bad("the padded or dilated size overflows");
  }
  if (padded < *size) return 0;
  return (padded - *size) / window.stride + 1;
}

absl::StatusOr<Inferred> InferReduceWindow(const Instruction& instruction) {
  const size_t count = instruction.operands.size() / 2;
  if (instruction.operands.size() % 2 != 0) {
    return Bad("expected one initial value per input; got ",
               instruction.operands.size(), " operands");
  }
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& first = instruction.operand_shape(0);
  Inferred::Types types;
  for (size_t i = 0; i < count; ++i) {
    const Shape& input = instruction.operand_shape(i);
    if (input.dimensions != first.dimensions) {
      return Bad("input ", i, " is not shaped like input 0; got ",
                 Describe(input), " and ", Describe(first));
    }
    MW_RETURN_IF_ERROR(CheckScalar(instruction, count + i));
    types.push_back(instruction.operand_shape(count + i).element_type);
    if (types.back() != input.element_type) {
      return Bad("initial value ", i, " has the wrong type; expected ",
                 Name(input.element_type), ", got ", Name(types.back()));
    }
  }
  MW_ASSIGN_OR_RETURN(std::vector<int64_t> dimensions,
                      AllPlaces(instruction, first));
  return Inferred::Arrays(std::move(types), std::move(dimensions));
}

absl::StatusOr<Inferred> InferSelectAndScatter(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  MW_RETURN_IF_ERROR(CheckScalar(instruction, 2));
  const Shape& operand = instruction.operand_shape(0);
  const Shape& source = instruction.operand_shape(1);
  const Shape& init = instruction.operand_shape(2);
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> places,
                      AllPlaces(instruction, operand));
  if (source.dimensions != places) {
    return Bad("the source must have one element per window; expected ",
               Describe(places), ", got ", Describe(source));
  }
  if (source.element_type != init.element_type) {
    return Bad("the initial value has the wrong type; expected ",
               Name(source.element_type), ", got ", Name(init.element_type));
  }
  return Inferred::Like(operand);
}

}  // namespace meshwright
