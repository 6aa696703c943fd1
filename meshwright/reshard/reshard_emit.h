// Emits the instructions that reshard a value.
#ifndef MESHWRIGHT_RESHARD_RESHARD_EMIT_H_
#define MESHWRIGHT_RESHARD_RESHARD_EMIT_H_

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// `value` is the local value in sharding `from`; the result is that in sharding
// `to`. Follows resharder.Path. Padding may be garbage before and after.
// Requires: the resharder and the builder have equal meshes.
Instruction* EmitReshard(Instruction* value, const Sharding& from,
                         const Sharding& to, Resharder& resharder,
                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_EMIT_H_
