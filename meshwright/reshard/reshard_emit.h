// The instructions that bring a value from one sharding to another.
#ifndef MESHWRIGHT_RESHARD_RESHARD_EMIT_H_
#define MESHWRIGHT_RESHARD_RESHARD_EMIT_H_

#include "meshwright/hlo/instruction.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// `value` is local to a device, in sharding `from`; so is the result, in `to`.
// Follows resharder.Path. Padding may hold anything before and after.
// Requires: the resharder and the builder have equal meshes.
Instruction* EmitReshard(Instruction* value, const Sharding& from,
                         const Sharding& to, Resharder& resharder,
                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_EMIT_H_
