// Operations that a platform's compiler does not have, or is slow at, in terms
// of others, so that a step written for one can be run and checked on another.
//
//   ragged-dot              cpu
//   cuDNN's attention       all but cuda
//   scatter-add of 16 bits  cuda: adds in f32, and rounds once
//   some convolutions       all: XLA's simplifier would end the process
#ifndef MESHWRIGHT_EXPAND_EXPAND_H_
#define MESHWRIGHT_EXPAND_EXPAND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Replaces, in place, what `platform` lacks. kUnimplemented, naming the
// instruction, for one that has no other form.
absl::Status ExpandFor(absl::string_view platform, Module& module);

// The module for `platform`'s compiler, in bytes.
absl::StatusOr<std::string> WriteModuleFor(absl::string_view platform,
                                           const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_EXPAND_H_
