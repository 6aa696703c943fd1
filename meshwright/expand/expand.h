// Rewrites operations that a platform's compiler lacks, or is slow at, in terms
// of others, so that a step written for one platform can run and be checked on
// another.
//
//   ragged-dot              cpu, cuda: by blocks of rows of one group
//   cuDNN's attention       all but cuda
//   scatter-add of 16 bits  cuda: adds in f32, and rounds once
//   scatter-add to few rows cuda: a sum for each row
//   inner all-gather        cuda: along a new first dimension, and transposed,
//                           where results follow element by element
//   sums of outer dims      cuda: their operand stays row-major
//   fft                     cpu: with a row-major layout
//   LAPACK, cuSOLVER        all: the libraries are part of jaxlib
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
// instruction, for one without another form.
absl::Status ExpandFor(absl::string_view platform, Module& module);

// The serialized module for `platform`'s compiler.
absl::StatusOr<std::string> WriteModuleFor(absl::string_view platform,
                                           const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_EXPAND_H_
