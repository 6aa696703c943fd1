#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

// Rows of a [V, D] table by s32[..., 1] or s32[...] ids.
std::function<void(Attributes&)> Rows(
    int64_t index_vector_dim, std::vector<int64_t> offset_dims,
    std::vector<int64_t> sizes,
    std::function<void(GatherDimensionNumbers&)> change = nullptr) {
  return [=](Attributes& a) {
    a.gather = {.offset_dims = offset_dims,
                .collapsed_slice_dims = {0},
                .start_index_map = {0},
                .index_vector_dim = index_vector_dim,
                .operand_batching_dims = {},
                .start_indices_batching_dims = {},
                .unknown_fields = ""};
    a.gather_slice_sizes = sizes;
    if (change) change(*a.gather);
  };
}

std::function<void(Attributes&)> ScatterRows(
    std::function<void(ScatterDimensionNumbers&)> change = nullptr) {
  return [=](Attributes& a) {
    a.scatter = {.update_window_dims = {1},
                 .inserted_window_dims = {0},
                 .scatter_dims_to_operand_dims = {0},
                 .index_vector_dim = 1,
                 .input_batching_dims = {},
                 .scatter_indices_batching_dims = {},
                 .unknown_fields = ""};
    if (change) change(*a.scatter);
  };
}

// a[b, ids[b]] for every b.
void BatchedGather(Attributes& attributes) {
  attributes.gather = {{}, {1}, {1}, 2, {0}, {0}, ""};
  attributes.gather_slice_sizes = {1, 1};
}

InstructionCase BadRows(std::string name,
                        std::function<void(GatherDimensionNumbers&)> change,
                        std::string error) {
  return {.name = std::move(name),
          .opcode = Opcode::kGather,
          .operands = {"f32[100,16]", "s32[3,2,1]"},
          .set = Rows(2, {2}, {1, 16}, std::move(change)),
          .result = "f32[3,2,16]",
          .error = std::move(error)};
}

std::vector<InstructionCase> Gathers() {
  return {
      {.name = "EmbeddingLookup",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "s32[3,2,1]"},
       .set = Rows(2, {2}, {1, 16}),
       .result = "f32[3,2,16]"},
      {.name = "ImplicitIndexVector",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "u32[3,2]"},
       .set = Rows(2, {0}, {1, 8}),
       .result = "f32[8,3,2]"},
      {.name = "BatchedGather",
       .opcode = Opcode::kGather,
       .operands = {"f32[4,9]", "s32[4,5,1]"},
       .set = BatchedGather,
       .result = "f32[4,5]"},
      {.name = "BatchedGatherSizesDiffer",
       .opcode = Opcode::kGather,
       .operands = {"f32[4,9]", "s32[3,5,1]"},
       .set = BatchedGather,
       .result = "f32[3,5]",
       .error = "batching dimension 0 differs in size; expected 4, got 3"},
      {.name = "GatherByFloats",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "f32[3,1]"},
       .set = Rows(1, {1}, {1, 16}),
       .result = "f32[3,16]",
       .error = "indices must be integers; got f32[3,1]"},
      {.name = "GatherWithoutNumbers",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "s32[3,1]"},
       .result = "f32[3,16]",
       .error = "no gather dimension numbers"},
      {.name = "SliceOfCollapsedDimension",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "s32[3,1]"},
       .set = Rows(1, {1}, {2, 16}),
       .result = "f32[3,16]",
       .error = "slice size of dimension 0 is out of range"},
      {.name = "SliceTooLarge",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "s32[3,1]"},
       .set = Rows(1, {1}, {1, 17}),
       .result = "f32[3,17]",
       .error = "expected 0 <= size <= 16, got 17"},
      {.name = "TooFewSliceSizes",
       .opcode = Opcode::kGather,
       .operands = {"f32[100,16]", "s32[3,1]"},
       .set = Rows(1, {1}, {1}),
       .result = "f32[3,16]",
       .error = "wrong number of slice sizes; expected 2, got 1"},
  };
}

std::vector<InstructionCase> BadGatherNumbers() {
  using Numbers = GatherDimensionNumbers;
  return {
      BadRows(
          "IndexVectorOutOfRange", [](Numbers& n) { n.index_vector_dim = 4; },
          "index_vector_dim out of range; expected 0 <= d <= 3, got 4"),
      BadRows(
          "IndexVectorLength", [](Numbers& n) { n.index_vector_dim = 1; },
          "index vector's length differs"),
      BadRows(
          "OffsetDimsMissing", [](Numbers& n) { n.offset_dims = {}; },
          "wrong number of window dimensions; expected 1, got 0"),
      BadRows(
          "OffsetDimsOutOfRange", [](Numbers& n) { n.offset_dims = {3}; },
          "window dims: dimension out of range"),
      BadRows(
          "MapOutOfRange", [](Numbers& n) { n.start_index_map = {2}; },
          "map to operand dims: dimension out of range"),
      BadRows(
          "CollapsedOutOfRange",
          [](Numbers& n) { n.collapsed_slice_dims = {-1}; },
          "collapsed or inserted dims: dimension out of range"),
      BadRows(
          "CollapsedUnsorted",
          [](Numbers& n) {
            n.collapsed_slice_dims = {1, 0};
          },
          "must be ascending; got {1,0}"),
      BadRows(
          "BatchingUnpaired", [](Numbers& n) { n.operand_batching_dims = {1}; },
          "wrong number of batching dimensions"),
      BadRows(
          "BatchingIsCollapsed",
          [](Numbers& n) {
            n.operand_batching_dims = {0};
            n.start_indices_batching_dims = {0};
          },
          "operand batching dims: dimension 0 occurs twice"),
      BadRows(
          "BatchingIsIndexVector",
          [](Numbers& n) {
            n.operand_batching_dims = {1};
            n.start_indices_batching_dims = {2};
          },
          "indices batching dims: dimension 2 occurs twice"),
  };
}

std::vector<InstructionCase> Scatters() {
  return {
      {.name = "ScatterAdd",
       .opcode = Opcode::kScatter,
       .operands = {"f32[100,16]", "s32[3,1]", "f32[3,16]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[100,16]"},
      {.name = "ScatterPartOfRow",
       .opcode = Opcode::kScatter,
       .operands = {"f32[100,16]", "s32[3,1]", "f32[3,5]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[100,16]"},
      {.name = "VariadicScatter",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[9,2]", "s32[3,1]", "f32[3,2]", "s32[3,2]"},
       .called = {"f32[], s32[], f32[], s32[] -> (f32[], s32[])"},
       .set = ScatterRows(),
       .result = "(f32[9,2], s32[9,2])"},
      {.name = "BatchedScatter",
       .opcode = Opcode::kScatter,
       .operands = {"f32[4,9]", "s32[4,5,1]", "f32[4,5]"},
       .called = {kAddSignature},
       .set =
           [](Attributes& a) { a.scatter = {{}, {1}, {1}, 2, {0}, {0}, ""}; },
       .result = "f32[4,9]"},
  };
}

std::vector<InstructionCase> BadScatters() {
  using Numbers = ScatterDimensionNumbers;
  return {
      {.name = "ScatterWithoutUpdates",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3,2]", "f32[3,2]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "expected operands, indices and as many updates"},
      {.name = "UpdateOfWrongRank",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "the updates have the wrong rank; expected 2, got f32[3]"},
      {.name = "UpdateTooLarge",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3,4]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "update dimension 1 is too large; expected at most 2, got 4"},
      {.name = "UpdateDiffersFromIndices",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[4,2]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "update dimension 0 differs from the indices"},
      {.name = "UpdateOfWrongType",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "s32[3,2]"},
       .called = {kAddSignature},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "updates 0 have the wrong type; expected f32, got s32"},
      {.name = "VariadicScatterMisfits",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[8,2]", "s32[3,1]", "f32[3,2]", "s32[3,2]"},
       .called = {"f32[], s32[], f32[], s32[] -> (f32[], s32[])"},
       .set = ScatterRows(),
       .result = "(f32[9,2], s32[8,2])",
       .error = "operand and updates 1 are not shaped like the first"},
      {.name = "ScatterCombinerOfWrongType",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3,2]"},
       .called = {"s32[], s32[] -> s32[]"},
       .set = ScatterRows(),
       .result = "f32[9,2]",
       .error = "must be a scalar; expected f32[], got s32[]"},
      {.name = "ScatterWithoutNumbers",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3,2]"},
       .called = {kAddSignature},
       .result = "f32[9,2]",
       .error = "no scatter dimension numbers"},
      {.name = "WindowDimsUnsorted",
       .opcode = Opcode::kScatter,
       .operands = {"f32[9,2]", "s32[3,1]", "f32[3,2]"},
       .called = {kAddSignature},
       .set = ScatterRows([](Numbers& n) {
         n.update_window_dims = {1, 0};
       }),
       .result = "f32[9,2]",
       .error = "window dims must be ascending"},
  };
}

}  // namespace

std::vector<InstructionCase> GatherScatterCases() {
  return Joined({Gathers, BadGatherNumbers, Scatters, BadScatters});
}

}  // namespace meshwright
