#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "meshwright/expand/expand_lu.h"
#include "meshwright/expand/expansions.h"

namespace meshwright {
namespace {

// lapack_spotrf_ffi, cusolver_potrf_ffi: potrf. Empty for other calls.
absl::string_view Routine(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kCustomCall) return {};
  absl::string_view target = instruction.attributes->custom_call_target;
  if (target == "cu_lu_pivots_to_permutation") return target;
  if (!absl::ConsumeSuffix(&target, "_ffi")) return {};
  if (absl::ConsumePrefix(&target, "cusolver_")) return target;
  if (!absl::ConsumePrefix(&target, "lapack_") || target.empty()) return {};
  return target.substr(1);  // Without the letter of the element type.
}

// What follows `name` in "{lower = true, uplo = 76 : ui8}"; empty if nothing.
absl::string_view ValueOf(absl::string_view name,
                          const Instruction& instruction) {
  const absl::string_view config = instruction.attributes->backend_config;
  const std::string before = absl::StrCat(name, " = ");
  const size_t found = config.find(before);
  if (found == absl::string_view::npos) return {};
  const absl::string_view rest = config.substr(found + before.size());
  return rest.substr(0, rest.find_first_of(" ,}"));
}

// A letter that LAPACK takes: 'L' is "76 : ui8".
bool HasLetter(absl::string_view name, char letter,
               const Instruction& instruction) {
  int code = 0;
  return absl::SimpleAtoi(ValueOf(name, instruction), &code) && code == letter;
}

bool IsLower(const Instruction& instruction) {
  return HasLetter("uplo", 'L', instruction) ||
         ValueOf("lower", instruction) == "true";
}

// Without the layout that the library wants.
Shape PlainShape(const Shape& shape) {
  if (!shape.IsTuple()) {
    return Shape::Array(shape.element_type, shape.dimensions);
  }
  std::vector<Shape> elements;
  for (const Shape& element : shape.tuple_shapes) {
    elements.push_back(PlainShape(element));
  }
  return Shape::Tuple(std::move(elements));
}

// The last result of most routines: that all went well. Where it did not, the
// other results are NaN by themselves.
Instruction* Success(const Instruction& instruction, LocalBuilder& builder) {
  const Shape& info = instruction.shape.tuple_shapes.back();
  return builder.Broadcast(builder.Constant(info.element_type, 0),
                           info.dimensions);
}

Instruction* Cholesky(const Instruction& instruction, LocalBuilder& builder) {
  Attributes attributes;
  attributes.cholesky_lower = IsLower(instruction);
  Instruction* factor = builder.Add(
      Opcode::kCholesky, PlainShape(instruction.shape.tuple_shapes[0]),
      instruction.operands, std::move(attributes));
  return builder.Tuple({factor, Success(instruction, builder)});
}

Instruction* TriangularSolve(const Instruction& instruction,
                             LocalBuilder& builder) {
  TriangularSolveOptions options;
  options.left_side = HasLetter("side", 'L', instruction);
  options.lower = IsLower(instruction);
  options.unit_diagonal = HasLetter("diag", 'U', instruction);
  options.transpose_a = HasLetter("trans_x", 'C', instruction)   ? 3
                        : HasLetter("trans_x", 'T', instruction) ? 2
                                                                 : 1;
  Attributes attributes;
  attributes.triangular_solve = options;
  return builder.Add(Opcode::kTriangularSolve, PlainShape(instruction.shape),
                     instruction.operands, std::move(attributes));
}

// A call that XLA's compilers write as loops, for the first results.
Instruction* CompilerCall(absl::string_view target, std::string config,
                          Shape shape, const Instruction& instruction,
                          LocalBuilder& builder) {
  Attributes attributes;
  attributes.custom_call_target = std::string(target);
  attributes.backend_config = std::move(config);
  return builder.Add(Opcode::kCustomCall, std::move(shape),
                     instruction.operands, std::move(attributes));
}

Instruction* Eigenvalues(const Instruction& instruction,
                         LocalBuilder& builder) {
  Shape found = PlainShape(instruction.shape);
  found.tuple_shapes.pop_back();
  const ElementType type = found.tuple_shapes[1].element_type;
  // Which triangle, ascending, sweeps of Jacobi's method, and when it ends.
  Instruction* both =
      CompilerCall("Eigh",
                   absl::StrCat(IsLower(instruction) ? 1 : 0, ",1,100,",
                                type == ElementType::kF64 ? "1e-13" : "1e-6"),
                   std::move(found), instruction, builder);
  return builder.Tuple({builder.GetTupleElement(both, 0),
                        builder.GetTupleElement(both, 1),
                        Success(instruction, builder)});
}

}  // namespace

bool CallsLapack(const Instruction& instruction) {
  return !Routine(instruction).empty();
}

absl::StatusOr<Instruction*> ExpandLapack(const Instruction& instruction,
                                          LocalBuilder& builder) {
  const absl::string_view routine = Routine(instruction);
  const size_t operands = instruction.operands.size();
  const size_t results = instruction.shape.tuple_shapes.size();
  if (routine == "potrf" && operands == 1 && results == 2) {
    return Cholesky(instruction, builder);
  }
  if (routine == "trsm" && operands == 2) {
    return TriangularSolve(instruction, builder);
  }
  if (routine == "geqrf" && operands == 1 && results == 2) {
    return CompilerCall("Qr", "", PlainShape(instruction.shape), instruction,
                        builder);
  }
  if ((routine == "orgqr" || routine == "ungqr") && operands == 2) {
    return CompilerCall("ProductOfElementaryHouseholderReflectors", "",
                        PlainShape(instruction.shape), instruction, builder);
  }
  if ((routine == "syevd" || routine == "heevd") && operands == 1 &&
      results == 3) {
    return Eigenvalues(instruction, builder);
  }
  if (routine == "getrf" && operands == 1 && results == 3) {
    const Factors factors = FactorRows(instruction.operands[0], builder);
    return builder.Tuple(
        {factors.matrix, factors.pivots, Success(instruction, builder)});
  }
  if (routine == "cu_lu_pivots_to_permutation" && operands == 1) {
    return PermutationOf(instruction.operands[0], instruction.shape, builder);
  }
  return absl::UnimplementedError(
      absl::StrCat("calls ", instruction.attributes->custom_call_target,
                   ", which is part of jaxlib; XLA has no operation like it "
                   "that could stand in for it here"));
}

}  // namespace meshwright
