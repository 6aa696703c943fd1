#include "meshwright/hlo/print_called.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/print_names.h"

namespace meshwright::internal {
namespace {

void AppendOne(absl::string_view attribute, const Computation* computation,
               std::string* out) {
  if (computation == nullptr) return;
  absl::StrAppend(out, ", ", attribute, "=");
  AppendName(computation->name(), out);
}

// The first attribute is the first of the called computations.
void AppendPair(absl::string_view first, absl::string_view second,
                const std::vector<Computation*>& called, std::string* out) {
  if (!called.empty()) AppendOne(first, called[0], out);
  if (called.size() > 1) AppendOne(second, called[1], out);
}

void AppendAll(absl::string_view attribute,
               const std::vector<Computation*>& called, std::string* out) {
  absl::StrAppend(out, ", ", attribute, "={");
  for (size_t i = 0; i < called.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    if (called[i] != nullptr) AppendName(called[i]->name(), out);
  }
  absl::StrAppend(out, "}");
}

bool IsOnPred(const Instruction& conditional) {
  return conditional.called.size() == 2 && !conditional.operands.empty() &&
         conditional.operand_shape(0).element_type == ElementType::kPred;
}

void AppendBranches(const Instruction& conditional, std::string* out) {
  if (IsOnPred(conditional)) {
    AppendPair("true_computation", "false_computation", conditional.called,
               out);
  } else {
    AppendAll("branch_computations", conditional.called, out);
  }
}

void AppendWhile(const std::vector<Computation*>& called, std::string* out) {
  // The schema lists the body first, the text the condition.
  if (called.size() > 1) AppendOne("condition", called[1], out);
  AppendOne("body", called[0], out);
}

}  // namespace

void AppendCalled(const Instruction& instruction, std::string* out) {
  const std::vector<Computation*>& called = instruction.called;
  if (called.empty()) return;
  switch (instruction.opcode) {
    case Opcode::kWhile:
      return AppendWhile(called, out);
    case Opcode::kConditional:
      return AppendBranches(instruction, out);
    case Opcode::kSelectAndScatter:
      return AppendPair("select", "scatter", called, out);
    case Opcode::kCustomCall:
      return AppendAll("called_computations", called, out);
    case Opcode::kFusion:
    case Opcode::kAsyncStart:
      return AppendOne("calls", called[0], out);
    case Opcode::kAsyncUpdate:
    case Opcode::kAsyncDone:
      return;  // Named by async-start.
    default:
      break;
  }
  if (called.size() == 1) {
    AppendOne("to_apply", called[0], out);
    if (instruction.attributes->is_composite) {
      absl::StrAppend(out, ", is_composite=true");
    }
  } else {
    AppendAll("called_computations", called, out);
  }
}

}  // namespace meshwright::internal
