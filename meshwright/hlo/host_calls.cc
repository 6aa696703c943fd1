#include "meshwright/hlo/host_calls.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/hlo/source_line.h"

namespace meshwright {
namespace {

// The targets of all jax callbacks, on any platform, contain this:
// xla_python_cpu_callback, xla_ffi_python_gpu_callback, tpu_python_callback ...
bool IsCallback(const Instruction& instruction) {
  const std::string& target = instruction.attributes->custom_call_target;
  return instruction.opcode == Opcode::kCustomCall &&
         absl::StrContains(target, "python") &&
         absl::StrContains(target, "callback");
}

// One instruction of a start/done pair represents both.
bool IsExchange(const Instruction& instruction) {
  return IsHostExchange(instruction.opcode) &&
         !IsAsynchronous(instruction.opcode);
}

}  // namespace

std::vector<const Instruction*> HostCalls(const Module& module) {
  std::vector<const Instruction*> calls;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (IsCallback(*instruction) || IsExchange(*instruction)) {
        calls.push_back(instruction.get());
      }
    }
  }
  return calls;
}

std::string HostCallWords(const Module& module,
                          const Instruction& instruction) {
  std::string origin = instruction.metadata.op_name;
  const std::string line = SourceLine(module, instruction);
  absl::StrAppend(&origin, origin.empty() || line.empty() ? "" : ", ", line);
  return absl::StrCat(
      instruction.name, origin.empty() ? "" : absl::StrCat(" (", origin, ")"),
      IsCallback(instruction)
          ? absl::StrCat(" calls a Python function (",
                         instruction.attributes->custom_call_target, ")")
          : absl::StrCat(" exchanges data with the host (",
                         instruction.opcode_name(), ")"));
}

std::string HostCallCure(const Instruction& instruction) {
  return IsCallback(instruction)
             ? "take jax.debug.print, jax.debug.callback, io_callback and "
               "pure_callback out of the step before it is lowered, or return "
               "what they print"
             : "make it a parameter or an output of the step";
}

}  // namespace meshwright
