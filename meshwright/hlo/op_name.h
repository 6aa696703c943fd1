// Parses op_name metadata, the origin of an instruction as frontends record it,
// for display.
//
//   ParseOpName("jit(step)/transpose(jvp(blocks/3))/attn/qkv/dot_general");
//   // "blocks/3/attn/qkv/dot_general (backward)"
#ifndef MESHWRIGHT_HLO_OP_NAME_H_
#define MESHWRIGHT_HLO_OP_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

// A parsed op_name: the scopes of the user's program and the operation, without
// the wrappers that JAX adds.
struct OpName {
  std::vector<std::string> scopes;  // "blocks", "3", "attn"
  std::string op;                   // "dot_general"
  bool is_backward = false;
  bool is_recomputed = false;  // Of a jax.checkpoint.

  // "blocks/3/attn/dot_general (backward)"
  std::string ToString() const;
  // " (backward)", " (recomputed)" or nothing.
  std::string Remark() const;

  bool operator==(const OpName&) const = default;
};
OpName ParseOpName(absl::string_view op_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OP_NAME_H_
