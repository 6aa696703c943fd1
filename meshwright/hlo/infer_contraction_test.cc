#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

std::function<void(Attributes&)> Dot(DotDimensionNumbers numbers) {
  return [=](Attributes& a) { a.dot = numbers; };
}

// Contracts the last dimension of lhs with the first of rhs, of matrices.
void MatrixProduct(Attributes& attributes) {
  attributes.dot = {{1}, {0}, {}, {}, ""};
}

// NHWC, HWIO to NHWC with a 3x3 window that keeps the size.
void Same3x3(Attributes& attributes) {
  attributes.convolution = {.input_batch = 0,
                            .input_feature = 3,
                            .input_spatial = {1, 2},
                            .kernel_input_feature = 2,
                            .kernel_output_feature = 3,
                            .kernel_spatial = {0, 1},
                            .output_batch = 0,
                            .output_feature = 3,
                            .output_spatial = {1, 2},
                            .unknown_fields = ""};
  const WindowDimension dimension = {
      .size = 3, .padding_low = 1, .padding_high = 1, .unknown_fields = ""};
  attributes.window = Window{{dimension, dimension}, ""};
}

std::function<void(Attributes&)> Convolution(
    std::function<void(Attributes&)> change) {
  return [=](Attributes& a) {
    Same3x3(a);
    change(a);
  };
}

std::vector<InstructionCase> Dots() {
  return {
      {.name = "MatrixProduct",
       .opcode = Opcode::kDot,
       .operands = {"f32[8,4]", "f32[4,16]"},
       .set = MatrixProduct,
       .result = "f32[8,16]"},
      {.name = "BatchedProduct",
       .opcode = Opcode::kDot,
       .operands = {"f32[2,3,5,7]", "f32[5,7,4,2]"},
       .set = Dot({{3}, {1}, {0, 2}, {3, 0}, ""}),
       .result = "f32[2,5,3,4]"},
      {.name = "OuterProduct",
       .opcode = Opcode::kDot,
       .operands = {"f32[3]", "f32[4]"},
       .set = Dot({}),
       .result = "f32[3,4]"},
      {.name = "NarrowInputsWideResult",
       .opcode = Opcode::kDot,
       .operands = {"f8e4m3fn[8,4]", "f8e5m2[4,16]"},
       .set = MatrixProduct,
       .result = "bf16[8,16]"},
      {.name = "IntegerProduct",
       .opcode = Opcode::kDot,
       .operands = {"s8[8,4]", "u8[4,16]"},
       .set = MatrixProduct,
       .result = "s32[8,16]"},
      {.name = "ProductIsNoToken",
       .opcode = Opcode::kDot,
       .operands = {"f32[8,4]", "f32[4,16]"},
       .set = MatrixProduct,
       .result = "token[]",
       .error = "the result must be an array; got token[]"},
  };
}

std::vector<InstructionCase> BadDots() {
  return {
      {.name = "ContractingSizesDiffer",
       .opcode = Opcode::kDot,
       .operands = {"f32[8,4]", "f32[5,16]"},
       .set = MatrixProduct,
       .result = "f32[8,16]",
       .error =
           "contracting sizes differ; expected 4 (lhs dimension 1), got 5"},
      {.name = "BatchSizesDiffer",
       .opcode = Opcode::kDot,
       .operands = {"f32[2]", "f32[3]"},
       .set = Dot({{}, {}, {0}, {0}, ""}),
       .result = "f32[2]",
       .error = "batch sizes differ"},
      {.name = "UnpairedContraction",
       .opcode = Opcode::kDot,
       .operands = {"f32[2]", "f32[2]"},
       .set = Dot({{0}, {}, {}, {}, ""}),
       .result = "f32[2]",
       .error = "wrong number of contracting dimensions"},
      {.name = "BatchIsAlsoContracted",
       .opcode = Opcode::kDot,
       .operands = {"f32[2]", "f32[2]"},
       .set = Dot({{0}, {0}, {0}, {0}, ""}),
       .result = "f32[2]",
       .error = "lhs_contracting_dims: dimension 0 occurs twice"},
      {.name = "ContractionOutOfRange",
       .opcode = Opcode::kDot,
       .operands = {"f32[2]", "f32[2]"},
       .set = Dot({{1}, {0}, {}, {}, ""}),
       .result = "f32[2]",
       .error = "lhs_contracting_dims: dimension out of range"},
      {.name = "DotWithoutNumbers",
       .opcode = Opcode::kDot,
       .operands = {"f32[2]", "f32[2]"},
       .result = "f32[]",
       .error = "no dot dimension numbers"},
  };
}

// Field 90: contracting {1} and {1}, ragged {`ragged`}, groups {0}.
std::string RaggedRows(char ragged) {
  return std::string("\xd2\x05\x0e\x0a\x06\x0a\x01\x01\x12\x01\x01\x12\x01",
                     13) +
         ragged + std::string("\x1a\x01\x00", 3);
}

std::vector<InstructionCase> OtherDots() {
  return {
      {.name = "SparseDot",
       .opcode = Opcode::kDot,
       .operands = {"f32[8,2]", "f32[4,16]", "u16[8,1]"},
       .set = MatrixProduct,
       .result = "f32[8,16]",
       .own = true},
      {.name = "RaggedDot",
       .opcode = Opcode::kRaggedDot,
       .operands = {"f32[8,4]", "f32[3,4,5]", "s32[3]"},
       .unknown_fields = RaggedRows('\0'),
       .result = "f32[8,5]"},
      {.name = "RaggedDotWithoutNumbers",
       .opcode = Opcode::kRaggedDot,
       .operands = {"f32[8,4]", "f32[3,4,5]", "s32[3]"},
       .result = "f32[8,5]",
       .error = "no ragged-dot dimension numbers"},
      {.name = "RaggedDotOfOtherGroups",
       .opcode = Opcode::kRaggedDot,
       .operands = {"f32[8,4]", "f32[3,4,5]", "s32[2]"},
       .unknown_fields = RaggedRows('\0'),
       .result = "f32[8,5]",
       .error = "the right operand must have 2 groups; got 3"},
      {.name = "RaggedDotBeyondItsRank",
       .opcode = Opcode::kRaggedDot,
       .operands = {"f32[8,4]", "f32[3,4,5]", "s32[3]"},
       .unknown_fields = RaggedRows('\7'),
       .result = "f32[8,5]",
       .error = "lhs_ragged_dims"},
      {.name = "ScaledDot",
       .opcode = Opcode::kScaledDot,
       .operands = {"f8e4m3fn[8,32]", "f8e4m3fn[32,8]", "f8e8m0fnu[8,1]",
                    "f8e8m0fnu[1,8]"},
       .result = "f32[8,8]",
       .own = true},
  };
}

std::vector<InstructionCase> Convolutions() {
  return {
      {.name = "SameConvolution",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Same3x3,
       .result = "f32[2,9,8,6]"},
      {.name = "StridedConvolution",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) {
         a.window->dimensions[0].stride = 2;
         a.window->dimensions[1].window_dilation = 2;
         a.window->dimensions[1].padding_low = -1;
       }),
       .result = "f32[2,5,4,6]"},
      {.name = "DilatedInput",
       .opcode = Opcode::kConvolution,
       .operands = {"bf16[2,9,8,4]", "bf16[3,3,4,6]"},
       .set = Convolution(
           [](Attributes& a) { a.window->dimensions[0].base_dilation = 2; }),
       .result = "f32[2,17,8,6]"},
      {.name = "Depthwise",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,1,8]"},
       .set = Convolution([](Attributes& a) { a.feature_group_count = 4; }),
       .result = "f32[2,9,8,8]"},
      {.name = "BatchGroups",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[4,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) { a.batch_group_count = 2; }),
       .result = "f32[2,9,8,6]"},
      {.name = "WithoutSpatialDimensions",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,3]", "f32[3,5]"},
       .set =
           [](Attributes& a) {
             a.convolution = {0, 1, {}, 0, 1, {}, 0, 1, {}, ""};
           },
       .result = "f32[2,5]"},
  };
}

std::vector<InstructionCase> BadConvolutionGroups() {
  return {
      {.name = "FeaturesDiffer",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,5,6]"},
       .set = Same3x3,
       .result = "f32[2,9,8,6]",
       .error = "input features must be the kernel's times "
                "feature_group_count; expected 5 * 1, got 4"},
      {.name = "GroupsDoNotDivideOutput",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,1,6]"},
       .set = Convolution([](Attributes& a) { a.feature_group_count = 4; }),
       .result = "f32[2,9,8,6]",
       .error = "group counts must divide the output features"},
      {.name = "GroupsDoNotDivideBatch",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[3,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) { a.batch_group_count = 2; }),
       .result = "f32[1,9,8,6]",
       .error = "batch_group_count must divide the batch"},
      {.name = "BothKindsOfGroups",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[4,9,8,4]", "f32[3,3,2,6]"},
       .set = Convolution([](Attributes& a) {
         a.batch_group_count = 2;
         a.feature_group_count = 2;
       }),
       .result = "f32[2,9,8,6]",
       .error = "cannot both exceed 1; got 2 and 2"},
  };
}

std::vector<InstructionCase> BadConvolutionWindows() {
  return {
      {.name = "WindowDiffersFromKernel",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[5,3,4,6]"},
       .set = Same3x3,
       .result = "f32[2,9,8,6]",
       .error =
           "window dimension 0 differs from the kernel; expected 5, got 3"},
      {.name = "DimensionWithTwoRoles",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) {
         a.convolution->input_spatial = {1, 3};
       }),
       .result = "f32[2,9,8,6]",
       .error = "input: dimension 3 occurs twice"},
      {.name = "MissingSpatialDimension",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution(
           [](Attributes& a) { a.convolution->kernel_spatial = {0}; }),
       .result = "f32[2,9,8,6]",
       .error = "wrong number of kernel spatial dimensions; expected 2, got 1"},
      {.name = "WindowMissing",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) { a.window.reset(); }),
       .result = "f32[2,9,8,6]",
       .error = "input, kernel and window differ in spatial dimensions"},
      {.name = "ZeroStride",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution(
           [](Attributes& a) { a.window->dimensions[1].stride = 0; }),
       .result = "f32[2,9,8,6]",
       .error = "window dimension 1: size, stride and dilations must be"},
      {.name = "WindowOverflow",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .set = Convolution([](Attributes& a) {
         a.window->dimensions[1].base_dilation = int64_t{1} << 62;
       }),
       .result = "f32[2,9,8,6]",
       .error = "the padded or dilated size overflows"},
      {.name = "ConvolutionWithoutNumbers",
       .opcode = Opcode::kConvolution,
       .operands = {"f32[2,9,8,4]", "f32[3,3,4,6]"},
       .result = "f32[2,9,8,6]",
       .error = "no convolution dimension numbers"},
  };
}

}  // namespace

std::vector<InstructionCase> ContractionCases() {
  return Joined({Dots, BadDots, OtherDots, Convolutions, BadConvolutionGroups,
                 BadConvolutionWindows});
}

}  // namespace meshwright
