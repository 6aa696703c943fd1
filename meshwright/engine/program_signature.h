// Reads the signature of a compiled program from its bytes, skipping everything
// else.
//
//   ReadSignature({.format = "hlo_with_config", .code = bytes});
//   // parameters f32[2], f32[2]; outputs f32[2]; parameter 0 -> output 0
#ifndef MESHWRIGHT_ENGINE_PROGRAM_SIGNATURE_H_
#define MESHWRIGHT_ENGINE_PROGRAM_SIGNATURE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/engine/program.h"

namespace meshwright {

// For formats "hlo" and "hlo_with_config". kUnimplemented for others and for
// programs whose parameters or outputs are not arrays or not row-major (PJRT
// mixes layouts silently); kInvalidArgument for bytes that are not an HLO
// module.
absl::StatusOr<ProgramSignature> ReadSignature(const Program& program);

// The serialized HloModuleProto within `program`; for the same formats.
absl::StatusOr<absl::string_view> ModuleBytes(const Program& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PROGRAM_SIGNATURE_H_
