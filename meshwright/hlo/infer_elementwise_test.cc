#include "absl/strings/str_cat.h"
#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

constexpr absl::string_view kWrongType =
    "has an element type this opcode does not take";

std::string CaseName(absl::string_view prefix, Opcode opcode) {
  std::string name(prefix);
  for (const char letter : Name(opcode)) {
    if (letter != '-') name.push_back(letter);
  }
  return name;
}

// Every unary opcode once on a type that it takes, once on one it does not.
void AddUnary(std::vector<InstructionCase>& cases,
              const std::vector<Opcode>& opcodes, const std::string& good,
              const std::string& bad) {
  for (const Opcode opcode : opcodes) {
    cases.push_back({.name = CaseName("Unary_", opcode),
                     .opcode = opcode,
                     .operands = {good + "[4,8]"},
                     .result = good + "[4,8]"});
    cases.push_back({.name = CaseName("Unary_", opcode),
                     .opcode = opcode,
                     .operands = {bad + "[4,8]"},
                     .result = bad + "[4,8]",
                     .error = std::string(kWrongType)});
  }
}

void AddBinary(std::vector<InstructionCase>& cases,
               const std::vector<Opcode>& opcodes, const std::string& good,
               const std::string& bad) {
  for (const Opcode opcode : opcodes) {
    cases.push_back({.name = CaseName("Binary_", opcode),
                     .opcode = opcode,
                     .operands = {good + "[4,8]", good + "[4,8]"},
                     .result = good + "[4,8]"});
    if (bad.empty()) continue;
    cases.push_back({.name = CaseName("Binary_", opcode),
                     .opcode = opcode,
                     .operands = {bad + "[4,8]", bad + "[4,8]"},
                     .result = bad + "[4,8]",
                     .error = std::string(kWrongType)});
  }
}

void AddByType(std::vector<InstructionCase>& cases) {
  AddUnary(
      cases,
      {Opcode::kAcos, Opcode::kAcosh, Opcode::kAsin, Opcode::kAsinh,
       Opcode::kAtanh, Opcode::kCosh, Opcode::kCosine, Opcode::kExponential,
       Opcode::kExponentialMinusOne, Opcode::kLog, Opcode::kLogPlusOne,
       Opcode::kLogistic, Opcode::kRsqrt, Opcode::kSine, Opcode::kSinh,
       Opcode::kSqrt, Opcode::kTan, Opcode::kTanh},
      "bf16", "s32");
  AddUnary(cases,
           {Opcode::kCbrt, Opcode::kCeil, Opcode::kErf, Opcode::kFloor,
            Opcode::kRoundNearestAfz, Opcode::kRoundNearestEven},
           "f32", "c64");
  AddUnary(cases, {Opcode::kAbs, Opcode::kSign}, "s32", "u32");
  AddUnary(cases, {Opcode::kNegate}, "u32", "pred");
  AddUnary(cases, {Opcode::kNot}, "pred", "f32");
  AddUnary(cases, {Opcode::kPopcnt, Opcode::kCountLeadingZeros}, "s8", "pred");
  AddBinary(
      cases,
      {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kMultiply},
      "pred", "");
  AddBinary(cases, {Opcode::kSubtract, Opcode::kDivide, Opcode::kPower}, "u8",
            "pred");
  AddBinary(cases, {Opcode::kRemainder}, "f32", "c64");
  AddBinary(cases, {Opcode::kAtan2}, "bf16", "s32");
  AddBinary(cases, {Opcode::kAnd, Opcode::kOr, Opcode::kXor}, "pred", "f32");
  AddBinary(cases,
            {Opcode::kShiftLeft, Opcode::kShiftRightArithmetic,
             Opcode::kShiftRightLogical, Opcode::kMulhi},
            "u32", "f32");
}

void Less(Attributes& attributes) { attributes.comparison_direction = "LT"; }

std::vector<InstructionCase> ChangingTypes() {
  return {
      {.name = "AbsOfComplexIsReal",
       .opcode = Opcode::kAbs,
       .operands = {"c64[3]"},
       .result = "f32[3]"},
      {.name = "RealPart",
       .opcode = Opcode::kReal,
       .operands = {"c128[3]"},
       .result = "f64[3]"},
      {.name = "ImaginaryPart",
       .opcode = Opcode::kImag,
       .operands = {"c64[3]"},
       .result = "f32[3]"},
      {.name = "ComplexFromParts",
       .opcode = Opcode::kComplex,
       .operands = {"f64[3]", "f64[3]"},
       .result = "c128[3]"},
      {.name = "ComplexFromHalves",
       .opcode = Opcode::kComplex,
       .operands = {"f16[3]", "f16[3]"},
       .result = "c64[3]",
       .error = std::string(kWrongType)},
      {.name = "IsFinite",
       .opcode = Opcode::kIsFinite,
       .operands = {"f32[3]"},
       .result = "pred[3]"},
      {.name = "Compare",
       .opcode = Opcode::kCompare,
       .operands = {"s32[3]", "s32[3]"},
       .set = Less,
       .result = "pred[3]"},
      {.name = "CompareWithoutDirection",
       .opcode = Opcode::kCompare,
       .operands = {"s32[3]", "s32[3]"},
       .result = "pred[3]",
       .error = "unknown comparison direction"},
      {.name = "CompareInTheWrongOrder",
       .opcode = Opcode::kCompare,
       .operands = {"s32[3]", "s32[3]"},
       .set =
           [](Attributes& a) {
             Less(a);
             a.comparison_type = "TOTALORDER";
           },
       .result = "pred[3]",
       .error = "comparison type TOTALORDER does not fit operands of type s32"},
      {.name = "CompareGivesPred",
       .opcode = Opcode::kCompare,
       .operands = {"s32[3]", "s32[3]"},
       .set = Less,
       .result = "s32[3]",
       .error = "wrong shape; expected pred[3], got s32[3]"},
  };
}

std::vector<InstructionCase> Converting() {
  return {
      {.name = "Convert",
       .opcode = Opcode::kConvert,
       .operands = {"f32[2,3]"},
       .result = "f8e4m3fn[2,3]"},
      {.name = "ConvertKeepsDimensions",
       .opcode = Opcode::kConvert,
       .operands = {"f32[2,3]"},
       .result = "s32[3,2]",
       .error = "expected s32[2,3], got s32[3,2]"},
      {.name = "ConvertToToken",
       .opcode = Opcode::kConvert,
       .operands = {"f32[2]"},
       .result = "token[]",
       .error = "cannot convert f32 to token"},
      {.name = "BitcastConvertSameWidth",
       .opcode = Opcode::kBitcastConvert,
       .operands = {"f32[2]"},
       .result = "s32[2]"},
      {.name = "BitcastConvertToNarrower",
       .opcode = Opcode::kBitcastConvert,
       .operands = {"f32[2]"},
       .result = "u8[2,4]"},
      {.name = "BitcastConvertToWider",
       .opcode = Opcode::kBitcastConvert,
       .operands = {"s16[5,2]"},
       .result = "f32[5]"},
      {.name = "BitcastConvertToBits",
       .opcode = Opcode::kBitcastConvert,
       .operands = {"u8[5]"},
       .result = "pred[5,8]"},
      {.name = "BitcastConvertRest",
       .opcode = Opcode::kBitcastConvert,
       .operands = {"s16[5,3]"},
       .result = "f32[5]",
       .error = "must make up one f32"},
      {.name = "StochasticConvert",
       .opcode = Opcode::kStochasticConvert,
       .operands = {"f32[2]", "u32[2]"},
       .result = "bf16[2]"},
      {.name = "StochasticConvertNeedsUnsigned",
       .opcode = Opcode::kStochasticConvert,
       .operands = {"f32[2]", "s32[2]"},
       .result = "bf16[2]",
       .error = "random bits must be unsigned"},
      {.name = "ReducePrecision",
       .opcode = Opcode::kReducePrecision,
       .operands = {"f32[2]"},
       .set = [](Attributes& a) { a.exponent_bits = 5; },
       .result = "f32[2]"},
      {.name = "ReducePrecisionToNothing",
       .opcode = Opcode::kReducePrecision,
       .operands = {"f32[2]"},
       .result = "f32[2]",
       .error = "expected exponent_bits >= 1"},
  };
}

std::vector<InstructionCase> SeveralOperands() {
  return {
      {.name = "AddOfDifferentDimensions",
       .opcode = Opcode::kAdd,
       .operands = {"f32[4,8]", "f32[4,1]"},
       .result = "f32[4,8]",
       .error = "operand 1 has the wrong shape; expected f32[4,8]"},
      {.name = "AddOfDifferentTypes",
       .opcode = Opcode::kAdd,
       .operands = {"f32[4]", "bf16[4]"},
       .result = "f32[4]",
       .error = "expected f32[4], got bf16[4]"},
      {.name = "AddOfTuples",
       .opcode = Opcode::kAdd,
       .operands = {"(f32[4])", "(f32[4])"},
       .result = "f32[4]",
       .error = "operand 0 must be an array; got (f32[4])"},
      {.name = "AddOfOne",
       .opcode = Opcode::kAdd,
       .operands = {"f32[4]"},
       .result = "f32[4]",
       .error = "wrong number of operands; expected 2, got 1"},
      {.name = "AddCallsNothing",
       .opcode = Opcode::kAdd,
       .operands = {"f32[4]", "f32[4]"},
       .called = {"-> f32[]"},
       .result = "f32[4]",
       .error = "wrong number of called computations; expected 0, got 1"},
      {.name = "Clamp",
       .opcode = Opcode::kClamp,
       .operands = {"f32[]", "f32[4]", "f32[4]"},
       .result = "f32[4]"},
      {.name = "ClampBoundOfAnotherType",
       .opcode = Opcode::kClamp,
       .operands = {"s32[]", "f32[4]", "f32[4]"},
       .result = "f32[4]",
       .error = "operand 0 has the wrong shape"},
      {.name = "Select",
       .opcode = Opcode::kSelect,
       .operands = {"pred[4]", "f32[4]", "f32[4]"},
       .result = "f32[4]"},
      {.name = "SelectByScalar",
       .opcode = Opcode::kSelect,
       .operands = {"pred[]", "f32[4]", "f32[4]"},
       .result = "f32[4]"},
      {.name = "SelectByInteger",
       .opcode = Opcode::kSelect,
       .operands = {"s32[4]", "f32[4]", "f32[4]"},
       .result = "f32[4]",
       .error = std::string(kWrongType)},
      {.name = "SelectByOtherDimensions",
       .opcode = Opcode::kSelect,
       .operands = {"pred[1]", "f32[4]", "f32[4]"},
       .result = "f32[4]",
       .error = "the predicate must be a scalar or shaped like the values"},
  };
}

}  // namespace

std::vector<InstructionCase> ElementwiseCases() {
  std::vector<InstructionCase> cases =
      Joined({ChangingTypes, Converting, SeveralOperands});
  AddByType(cases);
  return cases;
}

}  // namespace meshwright
