#include "meshwright/rules/packed_segments.h"

#include "meshwright/rules/local_index.h"
#include "meshwright/rules/take_rows.h"

namespace meshwright {
namespace {

using Values = std::vector<Instruction*>;

class RowLister {
 public:
  RowLister(const LocalOp& op, const FusedAttention& attention, int32_t batch,
            LocalBuilder& builder)
      : of_(attention),
        rows_(op.operands[0]->shape.dimensions[0]),
        first_row_(op.IsSplit(batch) ? BlockStart(op, batch, builder)
                                     : builder.Constant(ElementType::kS32, 0)),
        builder_(builder) {}

  Values Run(Values operands) && {
    const int32_t lengths = of_.OperandOf(AttentionPart::kLengths);
    const int32_t offsets = of_.OperandOf(AttentionPart::kOffsets);
    FindSegments(operands[offsets]);
    for (const int32_t i : {0, 1}) {
      Instruction*& length = operands[lengths + i];
      length =
          builder_.Select(exists_, Taken(length),
                          Filled(ElementsOf(length), 0, {rows_, of_.segments}));
      operands[offsets + i] =
          Offsets(operands[offsets + i], i == 0 ? of_.queries : of_.keys);
    }
    return operands;
  }

 private:
  // Elements between the beginnings of rows.
  int64_t Stride(int64_t sequence) const {
    return sequence * of_.query_heads * of_.size;
  }
  static ElementType ElementsOf(const Instruction* value) {
    return value->shape.element_type;
  }
  Instruction* Filled(ElementType type, int64_t value,
                      const std::vector<int64_t>& sizes) {
    return builder_.Broadcast(
        builder_.Constant(type, static_cast<double>(value)), sizes);
  }
  // Of all segments, without what follows the last.
  Instruction* List(Instruction* values) {
    const int64_t count = of_.batch * of_.segments;
    const std::vector<int64_t>& sizes = values->shape.dimensions;
    return builder_.Slice(builder_.Reshape(values, {sizes[0] * sizes[1]}), 0, 0,
                          count);
  }
  Instruction* Taken(Instruction* values) {
    return TakeRows(List(values), index_, builder_);
  }
  // Rows from this device's first on, times `stride`, in a dimension of `sizes`
  // (0): where they begin.
  Instruction* Begin(ElementType type, int64_t stride,
                     const std::vector<int64_t>& sizes, bool is_local) {
    Instruction* row = builder_.Iota(ElementType::kS32, sizes, 0);
    if (!is_local) {
      row = builder_.Binary(Opcode::kAdd, row,
                            builder_.Broadcast(first_row_, sizes));
    }
    return builder_.Binary(Opcode::kMultiply, builder_.Convert(type, row),
                           Filled(type, stride, sizes));
  }

  // Where in the list the segments of rows are.
  void FindSegments(Instruction* offsets) {
    const ElementType type = ElementsOf(offsets);
    Instruction* list = List(offsets);
    const std::vector<int64_t> pairs = {rows_ + 1, list->shape.dimensions[0]};
    Instruction* before = builder_.Compare(
        "LT", builder_.BroadcastInDim(list, pairs, {1}),
        Begin(type, Stride(of_.queries), pairs, /*is_local=*/false));
    Instruction* counts = builder_.Reduce(
        Reduction::kSum, builder_.Convert(ElementType::kS32, before), {1});
    const std::vector<int64_t> sizes = {rows_, of_.segments};
    const auto by_row = [&](int64_t start) {
      return builder_.BroadcastInDim(
          builder_.Slice(counts, 0, start, start + rows_), sizes, {0});
    };
    index_ = builder_.Binary(Opcode::kAdd, by_row(0),
                             builder_.Iota(ElementType::kS32, sizes, 1));
    exists_ = builder_.Compare("LT", index_, by_row(1));
  }

  Instruction* Offsets(Instruction* offsets, int64_t sequence) {
    const ElementType type = ElementsOf(offsets);
    const int64_t stride = Stride(sequence);
    const std::vector<int64_t> sizes = {rows_, of_.segments};
    Instruction* first =
        builder_.Binary(Opcode::kMultiply, builder_.Convert(type, first_row_),
                        builder_.Constant(type, static_cast<double>(stride)));
    Instruction* local = builder_.Binary(Opcode::kSubtract, Taken(offsets),
                                         builder_.Broadcast(first, sizes));
    local = builder_.Select(exists_, local,
                            Begin(type, stride, sizes, /*is_local=*/true));
    local = builder_.Reshape(local, {rows_ * of_.segments});
    Instruction* end = Filled(type, rows_ * stride, {rows_});
    return builder_.Reshape(builder_.Concatenate({local, end}, 0),
                            {rows_, of_.segments + 1});
  }

  const FusedAttention& of_;
  const int64_t rows_;
  Instruction* const first_row_;
  LocalBuilder& builder_;
  Instruction* index_ = nullptr;   // s32[rows,segments]
  Instruction* exists_ = nullptr;  // pred[rows,segments]
};

}  // namespace

bool CanListByRow(const FusedAttention& attention) {
  return attention.segments > 1 && !attention.heads_first &&
         attention.query_heads == attention.key_heads &&
         attention.size == attention.value_size &&
         attention.OperandOf(AttentionPart::kBias) < 0;
}

Values ListByRow(const LocalOp& op, const FusedAttention& attention,
                 int32_t batch, LocalBuilder& builder) {
  return RowLister(op, attention, batch, builder).Run(op.operands);
}

}  // namespace meshwright
