// Arrays whose layout XLA's compilers must not choose.
#ifndef MESHWRIGHT_EXPAND_ROW_MAJOR_H_
#define MESHWRIGHT_EXPAND_ROW_MAJOR_H_

#include "meshwright/program/local_builder.h"

namespace meshwright {

// The value, row-major: a call that XLA drops once layouts are assigned.
Instruction* KeepRowMajor(Instruction* value, LocalBuilder& builder);
bool IsKeptRowMajor(const Instruction& value);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_ROW_MAJOR_H_
