// Operations on whole matrices: transforms, solvers and normalisation.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

enum FftType { kForward = 0, kInverse = 1, kFromReal = 2, kToReal = 3 };

absl::Status WrongType(const Shape& shape) {
  return Bad("operand 0 has an element type this opcode does not take; got ",
             Describe(shape));
}

// Whether the transformed dimensions, from the last one backwards, have these
// lengths.
absl::Status CheckFftLengths(const Shape& operand,
                             const std::vector<int64_t>& lengths,
                             bool to_real) {
  const size_t first = operand.dimensions.size() - lengths.size();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const bool halved = to_real && i + 1 == lengths.size();
    const int64_t expected = halved ? lengths[i] / 2 + 1 : lengths[i];
    if (operand.dimensions[first + i] != expected) {
      return Bad("operand dimension ", first + i, " does not fit fft_length; ",
                 "expected ", expected, ", got ",
                 operand.dimensions[first + i]);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSquare(const Shape& matrix) {
  const std::vector<int64_t>& dimensions = matrix.dimensions;
  if (dimensions.size() < 2 ||
      dimensions.back() != dimensions[dimensions.size() - 2]) {
    return Bad("operand 0 must hold square matrices; got ", Describe(matrix));
  }
  return absl::OkStatus();
}

// Operands `first` to `last` are vectors over the features.
absl::Status CheckFeatureVectors(const Instruction& instruction, size_t first,
                                 size_t last, int64_t features) {
  const ElementType type = instruction.operand_shape(0).element_type;
  for (size_t i = first; i <= last; ++i) {
    const Shape& shape = instruction.operand_shape(i);
    if (shape.rank() != 1 || shape.dimensions[0] != features ||
        !SameTypeIgnoringPrecision(shape.element_type, type)) {
      return Bad("operand ", i,
                 " must be a vector over the features; expected ", Name(type),
                 "[", features, "], got ", Describe(shape));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inferred> InferFft(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  const std::vector<int64_t>& lengths = instruction.attributes->fft_length;
  const int32_t kind = instruction.attributes->fft_type;
  if (lengths.empty() || lengths.size() > 3 ||
      std::ssize(lengths) > operand.rank()) {
    return Bad("fft_length must name 1 to 3 of the operand's dimensions; got ",
               lengths.size(), " for ", Describe(operand));
  }
  const bool real = kind == kFromReal;
  if (real ? !IsFloating(operand.element_type)
           : !IsComplex(operand.element_type)) {
    return WrongType(operand);
  }
  if (kind == kForward || kind == kInverse) return Inferred::Like(operand);
  if (kind != kFromReal && kind != kToReal) {
    return Bad("unknown fft_type ", kind);
  }
  MW_RETURN_IF_ERROR(CheckFftLengths(operand, lengths, kind == kToReal));
  std::vector<int64_t> dimensions = operand.dimensions;
  if (real) {
    const bool wide = operand.element_type == ElementType::kF64;
    dimensions.back() = dimensions.back() / 2 + 1;
    return Inferred::Array(wide ? ElementType::kC128 : ElementType::kC64,
                           std::move(dimensions));
  }
  const bool wide = operand.element_type == ElementType::kC128;
  dimensions.back() = lengths.back();
  return Inferred::Array(wide ? ElementType::kF64 : ElementType::kF32,
                         std::move(dimensions));
}

absl::StatusOr<Inferred> InferCholesky(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const Shape& operand = instruction.operand_shape(0);
  MW_RETURN_IF_ERROR(CheckSquare(operand));
  if (!IsFloatingOrComplex(operand.element_type)) return WrongType(operand);
  return Inferred::Like(operand);
}

absl::StatusOr<Inferred> InferTriangularSolve(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& a = instruction.operand_shape(0);
  const Shape& b = instruction.operand_shape(1);
  MW_RETURN_IF_ERROR(CheckSquare(a));
  if (!IsFloatingOrComplex(a.element_type)) return WrongType(a);
  const TriangularSolveOptions options =
      instruction.attributes->triangular_solve.value_or(
          TriangularSolveOptions());
  if (options.transpose_a < 1 || options.transpose_a > 3) {
    return Bad("unknown transpose_a ", options.transpose_a);
  }
  bool fits = a.element_type == b.element_type && a.rank() == b.rank();
  for (int64_t d = 0; fits && d < a.rank() - 2; ++d) {
    fits = a.dimensions[d] == b.dimensions[d];
  }
  const int64_t solved = b.rank() - (options.left_side ? 2 : 1);
  if (!fits || b.dimensions[solved] != a.dimensions.back()) {
    return Bad("the matrices do not fit together; got ", Describe(a), " and ",
               Describe(b));
  }
  return Inferred::Like(b);
}

absl::StatusOr<Inferred> InferBatchNorm(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArrays(instruction));
  const Shape& operand = instruction.operand_shape(0);
  const int64_t feature = instruction.attributes->feature_index;
  if (feature < 0 || feature >= operand.rank()) {
    return Bad("feature_index out of range; expected 0 <= d < ", operand.rank(),
               ", got ", feature);
  }
  if (!IsFloating(operand.element_type)) return WrongType(operand);
  const int64_t features = operand.dimensions[feature];
  const bool grad = instruction.opcode == Opcode::kBatchNormGrad;
  const size_t last = instruction.operands.size() - 1;
  MW_RETURN_IF_ERROR(
      CheckFeatureVectors(instruction, 1, grad ? last - 1 : last, features));
  if (instruction.opcode == Opcode::kBatchNormInference) {
    return Inferred::Like(operand);
  }
  if (grad &&
      !CompatibleIgnoringPrecision(instruction.operand_shape(last), operand)) {
    return Bad("the gradient must be shaped like operand 0; expected ",
               Describe(operand), ", got ",
               Describe(instruction.operand_shape(last)));
  }
  const Shape& scale = instruction.operand_shape(1);
  return Inferred::Tuple({&operand, &scale, &scale});
}

}  // namespace meshwright
