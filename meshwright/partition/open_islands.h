// Islands (rules/island.h) taken apart into the operations of their bodies, and
// put together again.
//
//   MW_ASSIGN_OR_RETURN(OpenedIslands open, OpenIslands(module));
//   ... a program of some of its operations, on other sizes ...
//   MW_ASSIGN_OR_RETURN(Module closed, CloseIslands(std::move(program)));
//
// Open, a module has the operations of rules/open_island.h, and cannot be
// partitioned: it is for who follows values through regions (microbatch/).
#ifndef MESHWRIGHT_PARTITION_OPEN_ISLANDS_H_
#define MESHWRIGHT_PARTITION_OPEN_ISLANDS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

struct OpenRegion {
  std::string name;  // RegionName of the island.
  Mesh mesh;
};

struct OpenedIslands {
  Module module;
  std::vector<OpenRegion> regions;
  // Which of them an instruction is of, those that enter and leave it included.
  absl::flat_hash_map<const Instruction*, int32_t> region_of;
};

// kInvalidArgument, naming the island, where it does not fit its body.
// Requires: `module` has islands, no calls, and passed Verify.
absl::StatusOr<OpenedIslands> OpenIslands(const Module& module);

// Every region of `module` as islands again, one for each part that hangs
// together. What it takes from outside without its having entered (the number
// of a micro-batch) enters whole.
absl::StatusOr<Module> CloseIslands(Module module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_OPEN_ISLANDS_H_
