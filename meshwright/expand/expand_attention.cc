#include <limits>
#include <utility>

#include "meshwright/expand/expansions.h"
#include "meshwright/expand/packed_positions.h"
#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/packed_segments.h"

namespace meshwright {
namespace {

using Tensor = AttentionPart;
constexpr ElementType kWide = ElementType::kF32;

// Dimensions of all values here: [batch, key heads, query heads per key head,
// queries or keys, size]; scores are [batch, key heads, query heads per key
// head, queries, keys]. Keys and values have no dimension of query heads.
class Expander {
 public:
  Expander(const Instruction& instruction, const FusedAttention& attention,
           LocalBuilder& builder)
      : call_(instruction), of_(attention), builder_(builder) {
    if (of_.segments == 1) return;
    const int32_t lengths = of_.OperandOf(Tensor::kLengths);
    const int32_t offsets = of_.OperandOf(Tensor::kOffsets);
    const auto find = [&](int32_t i, int64_t sequence) {
      return FindPositions(call_.operands[lengths + i],
                           call_.operands[offsets + i], sequence,
                           of_.query_heads * of_.size, builder_);
    };
    queries_ = find(0, of_.queries);
    keys_ = find(1, of_.keys);
  }

  Instruction* Forward() {
    Instruction* scores = Scores(Queries(0), Keys(1));
    Instruction* largest = builder_.Reduce(Reduction::kMax, scores, {4});
    Instruction* shifted = Minus(scores, largest);
    Instruction* weights = builder_.Unary(Opcode::kExponential, shifted);
    Instruction* total = builder_.Reduce(Reduction::kSum, weights, {4});
    Instruction* sum = builder_.Binary(Opcode::kAdd, largest,
                                       builder_.Unary(Opcode::kLog, total));
    weights =
        OfUsed(builder_.Binary(Opcode::kDivide, weights, OverKeys(total)));
    Instruction* output = Product(Narrow(Dropped(weights)), 4, Keys(2), 2);
    std::vector<Instruction*> results = {AsResult(output, 0)};
    if (of_.results[1] == Tensor::kLogSumExp) {
      if (HasLengths()) sum = ZeroIfUnused(sum);
      sum = builder_.Reshape(sum, {of_.batch, of_.query_heads, of_.queries});
      results.push_back(of_.segments > 1 ? BySegment(sum, queries_, builder_)
                                         : sum);
    }
    return WithWorkspace(std::move(results));
  }

  Instruction* Backward() {
    Instruction* query = Queries(0);
    Instruction* gradient = Queries(4);
    Instruction* sum = call_.operands[3];
    if (of_.segments > 1) sum = ByPosition(sum, queries_, builder_);
    sum = builder_.Reshape(sum,
                           {of_.batch, of_.key_heads, Shared(), of_.queries});
    Instruction* weights = OfUsed(builder_.Unary(
        Opcode::kExponential, Minus(Scores(query, Keys(1)), sum)));
    const int32_t output = of_.OperandOf(Tensor::kBias) < 0 ? 5 : 6;
    Instruction* inner =
        builder_.Reduce(Reduction::kSum,
                        builder_.Binary(Opcode::kMultiply, Wide(gradient),
                                        Wide(Queries(output))),
                        {4});
    Instruction* by_weight = Dropped(Product(gradient, 4, Keys(2), 3));
    Instruction* by_score =
        builder_.Binary(Opcode::kMultiply, weights, Minus(by_weight, inner));
    Instruction* scaled = Narrow(builder_.Binary(Opcode::kMultiply, by_score,
                                                 Number(of_.scale, by_score)));
    std::vector<Instruction*> results = {
        AsResult(Product(scaled, 4, Keys(1), 2), 0),
        AsResult(Summed(scaled, query), 1),
        AsResult(Summed(Narrow(Dropped(weights)), gradient), 2)};
    if (of_.results[3] == Tensor::kBias) {
      results.push_back(BiasGradient(by_score));
    }
    return WithWorkspace(std::move(results));
  }

 private:
  int64_t Shared() const { return of_.query_heads / of_.key_heads; }

  Instruction* Wide(Instruction* value) {
    return builder_.Convert(kWide, value);
  }
  Instruction* Narrow(Instruction* value) {
    return builder_.Convert(call_.operand_shape(0).element_type, value);
  }
  Instruction* Number(double value, const Instruction* like) {
    return builder_.Broadcast(
        builder_.Constant(like->shape.element_type, value),
        like->shape.dimensions);
  }
  // The scores after dropout: some are zero, the others scaled up.
  Instruction* Dropped(Instruction* scores) {
    if (of_.dropout <= 0) return scores;
    if (kept_ == nullptr) {
      kept_ = DropoutMask(of_.dropout, of_.seed, scores->shape.dimensions,
                          builder_);
    }
    return builder_.Binary(Opcode::kMultiply, scores, kept_);
  }
  Instruction* OverKeys(Instruction* value) {
    std::vector<int64_t> sizes = value->shape.dimensions;
    sizes.push_back(of_.keys);
    return builder_.BroadcastInDim(value, sizes, {0, 1, 2, 3});
  }
  Instruction* Minus(Instruction* scores, Instruction* by_query) {
    return builder_.Binary(Opcode::kSubtract, scores, OverKeys(by_query));
  }

  // [batch, heads, sequence, size]
  Instruction* HeadsFirst(int32_t operand) {
    Instruction* value = call_.operands[operand];
    if (of_.heads_first) return value;
    return builder_.Transpose(value, {0, 2, 1, 3});
  }
  Instruction* Queries(int32_t operand) {
    Instruction* value = HeadsFirst(operand);
    return builder_.Reshape(value, {of_.batch, of_.key_heads, Shared(),
                                    of_.queries, value->shape.dimensions[3]});
  }
  Instruction* Keys(int32_t operand) { return HeadsFirst(operand); }

  Instruction* Dot(Instruction* lhs, Instruction* rhs,
                   DotDimensionNumbers numbers,
                   std::vector<int64_t> dimensions) {
    Attributes attributes;
    attributes.dot = std::move(numbers);
    return builder_.Add(Opcode::kDot,
                        Shape::Array(kWide, std::move(dimensions)), {lhs, rhs},
                        std::move(attributes));
  }
  // A dot of a value that has query heads with keys or values, along the given
  // dimensions.
  Instruction* Product(Instruction* lhs, int64_t of_lhs, Instruction* rhs,
                       int64_t of_rhs) {
    std::vector<int64_t> sizes = lhs->shape.dimensions;
    sizes[4] = rhs->shape.dimensions[of_rhs == 2 ? 3 : 2];
    return Dot(lhs, rhs,
               {.lhs_contracting = {of_lhs},
                .rhs_contracting = {of_rhs},
                .lhs_batch = {0, 1},
                .rhs_batch = {0, 1}},
               std::move(sizes));
  }
  // Sum over queries and the heads that share a key: [batch, heads, keys,
  // size].
  Instruction* Summed(Instruction* scores, Instruction* value) {
    return Dot(
        scores, value,
        {.lhs_contracting = {2, 3},
         .rhs_contracting = {2, 3},
         .lhs_batch = {0, 1},
         .rhs_batch = {0, 1}},
        {of_.batch, of_.key_heads, of_.keys, value->shape.dimensions[4]});
  }

  Instruction* Scores(Instruction* query, Instruction* key) {
    Instruction* scores = Product(query, 4, key, 3);
    scores =
        builder_.Binary(Opcode::kMultiply, scores, Number(of_.scale, scores));
    if (const int32_t bias = of_.OperandOf(Tensor::kBias); bias >= 0) {
      scores = builder_.Binary(Opcode::kAdd, scores, Bias(bias, scores));
    }
    if (Instruction* seen = Seen(scores)) {
      Instruction* nothing =
          Number(-std::numeric_limits<double>::infinity(), scores);
      scores = builder_.Select(seen, scores, nothing);
    }
    return scores;
  }

  Instruction* Bias(int32_t operand, const Instruction* scores) {
    Instruction* bias = Wide(call_.operands[operand]);
    const std::vector<int64_t> sizes = bias->shape.dimensions;
    std::vector<int64_t> kept;
    std::vector<int64_t> mapping;
    const auto keep = [&](int64_t size, int64_t dimension) {
      kept.push_back(size);
      mapping.push_back(dimension);
    };
    if (sizes[0] > 1) keep(of_.batch, 0);
    if (sizes[1] > 1) {
      keep(of_.key_heads, 1);
      keep(Shared(), 2);
    }
    keep(of_.queries, 3);
    keep(of_.keys, 4);
    return builder_.BroadcastInDim(builder_.Reshape(bias, kept),
                                   scores->shape.dimensions, mapping);
  }

  Instruction* BiasGradient(Instruction* by_score) {
    const Shape& shape = *Leaves(call_.shape)[3];
    std::vector<int64_t> shared;
    if (shape.dimensions[0] == 1 && of_.batch > 1) shared.push_back(0);
    if (shape.dimensions[1] == 1 && of_.query_heads > 1) {
      shared.insert(shared.end(), {1, 2});
    }
    if (!shared.empty()) {
      by_score = builder_.Reduce(Reduction::kSum, by_score, shared);
    }
    return builder_.Convert(shape.element_type,
                            builder_.Reshape(by_score, shape.dimensions));
  }

  Instruction* And(Instruction* a, Instruction* b) {
    return a == nullptr ? b : builder_.Binary(Opcode::kAnd, a, b);
  }

  Instruction* OfQueries(Instruction* value, const Instruction* scores) {
    return builder_.BroadcastInDim(value, scores->shape.dimensions, {0, 3});
  }
  Instruction* OfKeys(Instruction* value, const Instruction* scores) {
    return builder_.BroadcastInDim(value, scores->shape.dimensions, {0, 4});
  }
  bool HasLengths() const {
    return of_.segments == 1 && of_.OperandOf(Tensor::kLengths) >= 0;
  }
  // pred as `like`: whether a query is padding, or in no segment.
  Instruction* Unused(const Instruction* like) {
    const std::vector<int64_t>& sizes = like->shape.dimensions;
    if (HasLengths()) {
      Instruction* lengths = call_.operands[of_.OperandOf(Tensor::kLengths)];
      return builder_.Compare(
          "GE", builder_.Iota(lengths->shape.element_type, sizes, 3),
          builder_.BroadcastInDim(lengths, sizes, {0}));
    }
    Instruction* segment = OfQueries(queries_.segment, like);
    return builder_.Compare("EQ", segment, Number(0, segment));
  }
  Instruction* ZeroIfUnused(Instruction* value) {
    return builder_.Select(Unused(value), Number(0, value), value);
  }
  // The weights, with zeros for queries that are not used.
  Instruction* OfUsed(Instruction* weights) {
    const bool all = of_.segments == 1 && !HasLengths();
    return all ? weights : ZeroIfUnused(weights);
  }

  // pred with the scores' dimensions: which keys are visible; null if all are.
  Instruction* Seen(const Instruction* scores) {
    const std::vector<int64_t>& sizes = scores->shape.dimensions;
    if (of_.segments > 1) {
      Instruction* same =
          builder_.Compare("EQ", OfQueries(queries_.segment, scores),
                           OfKeys(keys_.segment, scores));
      Instruction* seen = And(Near(OfQueries(queries_.within, scores),
                                   OfKeys(keys_.within, scores)),
                              same);
      // The result for queries in no segment is not used, but must be finite.
      return builder_.Binary(Opcode::kOr, seen, Unused(scores));
    }
    Instruction* query = builder_.Iota(ElementType::kS32, sizes, 3);
    Instruction* key = builder_.Iota(ElementType::kS32, sizes, 4);
    Instruction* seen = Near(query, key);
    if (const int32_t lengths = of_.OperandOf(Tensor::kLengths); lengths >= 0) {
      Instruction* length =
          builder_.BroadcastInDim(call_.operands[lengths + 1], sizes, {0});
      seen = And(seen, builder_.Compare("LT", key, length));
    }
    return seen;
  }

  // pred: whether the key is neither later nor too far back; null if there is
  // no such limit.
  Instruction* Near(Instruction* query, Instruction* key) {
    Instruction* seen = nullptr;
    if (of_.causal) seen = builder_.Compare("LE", key, query);
    if (of_.window > 0) {
      Instruction* reach = builder_.Binary(
          Opcode::kAdd, key, Number(static_cast<double>(of_.window), key));
      seen = And(seen, builder_.Compare("GT", reach, query));
    }
    return seen;
  }

  // The value as result `index`: [batch, heads, sequence, size].
  Instruction* AsResult(Instruction* value, int32_t index) {
    const Shape* shape = Leaves(call_.shape)[index];
    return builder_.Convert(shape->element_type,
                            builder_.Reshape(value, shape->dimensions));
  }

  Instruction* WithWorkspace(std::vector<Instruction*> results) {
    const Shape* shape = Leaves(call_.shape).back();
    results.push_back(builder_.Broadcast(
        builder_.Constant(shape->element_type, 0), shape->dimensions));
    return builder_.Tuple(std::move(results));
  }

  const Instruction& call_;
  const FusedAttention& of_;
  LocalBuilder& builder_;
  Instruction* kept_ = nullptr;  // The mask of dropout.
  // If sequences are packed.
  PackedPositions queries_;
  PackedPositions keys_;
};

}  // namespace

absl::StatusOr<Instruction*> ExpandAttention(const Instruction& instruction,
                                             LocalBuilder& builder) {
  const std::optional<FusedAttention> attention =
      ReadFusedAttention(instruction);
  if (!attention.has_value() || attention->is_f8 ||
      (attention->segments > 1 && !CanListByRow(*attention))) {
    return absl::UnimplementedError(
        "only CUDA devices can run this attention of cuDNN's (pages, 8-bit "
        "floats and packed sequences with a bias or shared key heads have no "
        "other form)");
  }
  Expander expander(instruction, *attention, builder);
  return attention->backward ? expander.Backward() : expander.Forward();
}

}  // namespace meshwright
