// Explains a part of the model: the shardings of its parameters, and the
// options of its blocks.
//
//   MW_ASSIGN_OR_RETURN(NamedPart part, names.Called("blocks/3/attn"));
//   PartReport why = ExplainPart(study, blocks, part);
//   why.choices[0].option;   // "[-, model]", of blocks/*/attn/qkv/w
//   why.blocks[0].options;   // Of blocks/*/attn/qkv/dot_general
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_PART_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_PART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/analysis/blocks.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/explain_names.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

// What was chosen for a group of equivalent ops.
struct PartChoice {
  std::string name;   // Of the first of them.
  std::string shown;  // Display name of all of them.
  std::string opcode;
  std::string shape;
  int64_t count = 1;
  std::string option;  // "[-, model]"; empty if it is none of the search's.
};

struct PartReport {
  std::string name;
  // Parameters; of a part without a block, all ops.
  std::vector<PartChoice> choices;
  // Those whose contraction is in the part, or else those that it has ops of.
  std::vector<BlockReport> blocks;
};

// As ExplainBlocks.
PartReport ExplainPart(const PlanStudy& study, const Blocks& blocks,
                       const NamedPart& part, int questions = 60);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_PART_H_
