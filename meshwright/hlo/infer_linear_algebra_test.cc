#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

enum FftType { kForward, kInverse, kFromReal, kToReal };

std::function<void(Attributes&)> Fft(int32_t type,
                                     std::vector<int64_t> lengths) {
  return [=](Attributes& a) {
    a.fft_type = type;
    a.fft_length = lengths;
  };
}

std::function<void(Attributes&)> Solve(bool left_side, int32_t transpose = 1) {
  return [=](Attributes& a) {
    a.triangular_solve = {left_side, true, false, transpose, ""};
  };
}

std::function<void(Attributes&)> Feature(int64_t index) {
  return [=](Attributes& a) { a.feature_index = index; };
}

std::function<void(Attributes&)> Distribution(int32_t distribution) {
  return [=](Attributes& a) { a.distribution = distribution; };
}

std::vector<InstructionCase> Transforms() {
  return {
      {.name = "Fft",
       .opcode = Opcode::kFft,
       .operands = {"c64[4,8]"},
       .set = Fft(kForward, {8}),
       .result = "c64[4,8]"},
      {.name = "FftOfReals",
       .opcode = Opcode::kFft,
       .operands = {"f64[4,6,9]"},
       .set = Fft(kFromReal, {6, 9}),
       .result = "c128[4,6,5]"},
      {.name = "FftToReals",
       .opcode = Opcode::kFft,
       .operands = {"c64[4,6,5]"},
       .set = Fft(kToReal, {6, 9}),
       .result = "f32[4,6,9]"},
      {.name = "FftOfWrongLength",
       .opcode = Opcode::kFft,
       .operands = {"f32[4,6]"},
       .set = Fft(kFromReal, {7}),
       .result = "c64[4,4]",
       .error = "operand dimension 1 does not fit fft_length; expected 7"},
      {.name = "FftOfTooManyDimensions",
       .opcode = Opcode::kFft,
       .operands = {"c64[8]"},
       .set = Fft(kForward, {1, 8}),
       .result = "c64[8]",
       .error = "fft_length must name 1 to 3 of the operand's dimensions"},
      {.name = "ForwardFftOfReals",
       .opcode = Opcode::kFft,
       .operands = {"f32[8]"},
       .set = Fft(kForward, {8}),
       .result = "f32[8]",
       .error = "has an element type this opcode does not take"},
      {.name = "FftOfUnknownType",
       .opcode = Opcode::kFft,
       .operands = {"c64[8]"},
       .set = Fft(9, {8}),
       .result = "c64[8]",
       .error = "unknown fft_type 9"},
  };
}

std::vector<InstructionCase> Solvers() {
  return {
      {.name = "Cholesky",
       .opcode = Opcode::kCholesky,
       .operands = {"f32[2,4,4]"},
       .result = "f32[2,4,4]"},
      {.name = "CholeskyOfOblong",
       .opcode = Opcode::kCholesky,
       .operands = {"f32[2,4,5]"},
       .result = "f32[2,4,5]",
       .error = "operand 0 must hold square matrices; got f32[2,4,5]"},
      {.name = "CholeskyOfIntegers",
       .opcode = Opcode::kCholesky,
       .operands = {"s32[4,4]"},
       .result = "s32[4,4]",
       .error = "has an element type this opcode does not take"},
      {.name = "TriangularSolve",
       .opcode = Opcode::kTriangularSolve,
       .operands = {"f32[2,4,4]", "f32[2,4,7]"},
       .set = Solve(/*left_side=*/true),
       .result = "f32[2,4,7]"},
      {.name = "TriangularSolveFromTheRight",
       .opcode = Opcode::kTriangularSolve,
       .operands = {"c64[4,4]", "c64[7,4]"},
       .set = Solve(/*left_side=*/false, /*transpose=*/3),
       .result = "c64[7,4]"},
      {.name = "TriangularSolveFromTheWrongSide",
       .opcode = Opcode::kTriangularSolve,
       .operands = {"f32[4,4]", "f32[7,4]"},
       .set = Solve(/*left_side=*/true),
       .result = "f32[7,4]",
       .error = "the matrices do not fit together; got f32[4,4] and f32[7,4]"},
      {.name = "TriangularSolveOfUnknownForm",
       .opcode = Opcode::kTriangularSolve,
       .operands = {"f32[4,4]", "f32[4,7]"},
       .result = "f32[4,7]",
       .error = "unknown transpose_a 0"},
  };
}

std::vector<InstructionCase> Normalisation() {
  return {
      {.name = "BatchNormTraining",
       .opcode = Opcode::kBatchNormTraining,
       .operands = {"f32[8,5,3]", "f32[3]", "f32[3]"},
       .set = Feature(2),
       .result = "(f32[8,5,3], f32[3], f32[3])"},
      {.name = "BatchNormInference",
       .opcode = Opcode::kBatchNormInference,
       .operands = {"bf16[8,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"},
       .set = Feature(1),
       .result = "bf16[8,3]"},
      {.name = "BatchNormGrad",
       .opcode = Opcode::kBatchNormGrad,
       .operands = {"f32[8,3]", "f32[3]", "f32[3]", "f32[3]", "f32[8,3]"},
       .set = Feature(1),
       .result = "(f32[8,3], f32[3], f32[3])"},
      {.name = "BatchNormGradOfOtherShape",
       .opcode = Opcode::kBatchNormGrad,
       .operands = {"f32[8,3]", "f32[3]", "f32[3]", "f32[3]", "f32[7,3]"},
       .set = Feature(1),
       .result = "(f32[8,3], f32[3], f32[3])",
       .error = "the gradient must be shaped like operand 0"},
      {.name = "BatchNormOfAbsentFeature",
       .opcode = Opcode::kBatchNormTraining,
       .operands = {"f32[8,3]", "f32[3]", "f32[3]"},
       .set = Feature(2),
       .result = "(f32[8,3], f32[3], f32[3])",
       .error = "feature_index out of range; expected 0 <= d < 2, got 2"},
      {.name = "BatchNormScaleOfWrongSize",
       .opcode = Opcode::kBatchNormTraining,
       .operands = {"f32[8,3]", "f32[8]", "f32[3]"},
       .set = Feature(1),
       .result = "(f32[8,3], f32[3], f32[3])",
       .error =
           "operand 1 must be a vector over the features; expected f32[3]"},
      {.name = "BatchNormOfIntegers",
       .opcode = Opcode::kBatchNormTraining,
       .operands = {"s32[8,3]", "s32[3]", "s32[3]"},
       .set = Feature(1),
       .result = "(s32[8,3], s32[3], s32[3])",
       .error = "has an element type this opcode does not take"},
  };
}

std::vector<InstructionCase> RandomNumbers() {
  return {
      {.name = "Rng",
       .opcode = Opcode::kRng,
       .operands = {"f32[]", "f32[]"},
       .set = Distribution(1),
       .result = "f32[3,4]",
       .own = true},
      {.name = "RngOfAnotherType",
       .opcode = Opcode::kRng,
       .operands = {"f32[]", "s32[]"},
       .set = Distribution(1),
       .result = "f32[3,4]",
       .error = "operand 1 has the wrong type; expected f32, got s32[]"},
      {.name = "RngWithoutDistribution",
       .opcode = Opcode::kRng,
       .operands = {"f32[]", "f32[]"},
       .result = "f32[3,4]",
       .error = "unknown distribution 0"},
      {.name = "RngBitGenerator",
       .opcode = Opcode::kRngBitGenerator,
       .operands = {"u64[2]"},
       .result = "(u64[2], u32[3])",
       .own = true},
      {.name = "RngBitGeneratorWithoutState",
       .opcode = Opcode::kRngBitGenerator,
       .operands = {"u64[2]"},
       .result = "u32[3]",
       .own = true},
      {.name = "RngBitGeneratorOfFloats",
       .opcode = Opcode::kRngBitGenerator,
       .operands = {"f32[2]"},
       .result = "(f32[2], u32[3])",
       .error = "the state must be unsigned; got f32[2]"},
      {.name = "RngBitGeneratorOfOtherState",
       .opcode = Opcode::kRngBitGenerator,
       .operands = {"u64[2]"},
       .result = "(u64[3], u32[3])",
       .error =
           "expected a tuple of u64[2] and an array, got (u64[3], u32[3])"},
      {.name = "RngState",
       .opcode = Opcode::kRngGetAndUpdateState,
       .result = "u64[2]"},
  };
}

}  // namespace

std::vector<InstructionCase> LinearAlgebraCases() {
  return Joined({Transforms, Solvers, Normalisation, RandomNumbers});
}

}  // namespace meshwright
