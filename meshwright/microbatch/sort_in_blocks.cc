#include "meshwright/microbatch/sort_in_blocks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/hlo/sink_loop_constants.h"
#include "meshwright/microbatch/row_orders.h"

namespace meshwright {
namespace {

using Dimensions = std::vector<int64_t>;

// The dimension, and those behind it that move by one.
void Shift(Dimensions& dimensions, int64_t from) {
  for (int64_t& dimension : dimensions) dimension += dimension >= from;
}

class Rewriter {
 public:
  Rewriter(Module& module, Computation& computation, int64_t blocks,
           const std::map<const Instruction*, RowUse>& uses,
           std::set<std::string>& names)
      : module_(module),
        computation_(computation),
        blocks_(blocks),
        uses_(uses),
        names_(names) {}

  void Run() {
    Instruction* const root = computation_.root();
    const int32_t count = computation_.size();
    for (int32_t id = 0; id < count; ++id) {
      Instruction* op = computation_.instruction(id);
      for (Instruction*& operand : op->operands) {
        const auto found = replaced_.find(operand);
        if (found != replaced_.end()) operand = found->second;
      }
      source_ = op;
      const auto use = uses_.find(op);
      if (use != uses_.end()) {
        replaced_[op] = Rewrite(*op, use->second);
      } else if (op->opcode == Opcode::kGetTupleElement &&
                 sorts_.contains(op->operands[0])) {
        replaced_[op] = Element(*op);
      } else {
        order_.push_back(op);
      }
    }
    computation_.set_root(root);
    computation_.Keep(order_);
  }

 private:
  Instruction* Rewrite(const Instruction& op, const RowUse& use) {
    switch (use.kind) {
      case RowUse::Kind::kSort:
        return Sort(op);
      case RowUse::Kind::kTake:
        return Take(op, use);
      case RowUse::Kind::kPut:
        return Put(op, use);
      case RowUse::Kind::kRagged:
        return Multiply(op, use);
    }
    return nullptr;
  }

  Instruction* Sort(const Instruction& sort) {
    std::vector<Instruction*> operands;
    std::vector<Shape> shapes;
    for (Instruction* operand : sort.operands) {
      operands.push_back(Blocked(operand, 0));
      shapes.push_back(operands.back()->shape);
    }
    Instruction* sorted = Like(sort, Shape::Tuple(shapes), operands);
    sorted->attributes.mutate().dimensions = {1};
    sorts_.insert(sorted);
    return sorted;
  }

  Instruction* Element(const Instruction& element) {
    const Instruction& sorted = *element.operands[0];
    Instruction* blocked = Like(
        element, sorted.shape.tuple_shapes[element.attributes->tuple_index],
        element.operands);
    return Reshape(blocked, element.shape.dimensions);
  }

  Instruction* Take(const Instruction& gather, const RowUse& use) {
    Instruction* rows = Blocked(gather.operands[0], use.dimension);
    Instruction* indices = LocalIndices(gather, use);
    Attributes attributes = *gather.attributes;
    GatherDimensionNumbers& numbers = *attributes.gather;
    // The dimension of the result that has the rows.
    const int64_t place =
        PlaceOf(use.indices_dimension, numbers.index_vector_dim,
                numbers.offset_dims, gather.shape.rank());
    Shift(numbers.offset_dims, place);
    numbers.start_index_map =
        numbers.collapsed_slice_dims = {use.dimension + 1};
    numbers.operand_batching_dims = {use.dimension};
    numbers.start_indices_batching_dims = {use.indices_dimension};
    numbers.index_vector_dim +=
        numbers.index_vector_dim > use.indices_dimension;
    attributes.gather_slice_sizes.insert(
        attributes.gather_slice_sizes.begin() + use.dimension, 1);
    attributes.indices_are_sorted = false;
    Instruction* taken =
        Like(gather, BlockedShape(gather.shape, place), {rows, indices});
    taken->attributes.mutate() = std::move(attributes);
    return Reshape(taken, gather.shape.dimensions);
  }

  Instruction* Put(const Instruction& scatter, const RowUse& use) {
    Attributes attributes = *scatter.attributes;
    ScatterDimensionNumbers& numbers = *attributes.scatter;
    const int64_t place =
        PlaceOf(use.indices_dimension, numbers.index_vector_dim,
                numbers.update_window_dims, scatter.operand_shape(2).rank());
    Instruction* target = Blocked(scatter.operands[0], use.dimension);
    Instruction* indices = LocalIndices(scatter, use);
    Instruction* updates = Blocked(scatter.operands[2], place);
    Shift(numbers.update_window_dims, place);
    numbers.scatter_dims_to_operand_dims =
        numbers.inserted_window_dims = {use.dimension + 1};
    numbers.input_batching_dims = {use.dimension};
    numbers.scatter_indices_batching_dims = {use.indices_dimension};
    numbers.index_vector_dim +=
        numbers.index_vector_dim > use.indices_dimension;
    attributes.indices_are_sorted = false;
    Instruction* put = Like(scatter, target->shape, {target, indices, updates});
    put->attributes.mutate() = std::move(attributes);
    return Reshape(put, scatter.shape.dimensions);
  }

  Instruction* Multiply(const Instruction& dot, const RowUse& use) {
    RaggedDotNumbers numbers = RaggedDotNumbersOf(dot).value();
    Instruction* lhs = Blocked(dot.operands[0], use.dimension);
    Instruction* rhs = dot.operands[1];
    Instruction* sizes = Counts(use, *dot.operands[2]);
    Shape shape = dot.shape;
    if (numbers.kind == RaggedDotNumbers::Ragged::kContracted) {
      const auto pair =
          std::ranges::find(numbers.dot.lhs_contracting, numbers.ragged) -
          numbers.dot.lhs_contracting.begin();
      const int64_t rows = numbers.dot.rhs_contracting[pair];
      rhs = Blocked(rhs, rows);
      Shift(numbers.dot.rhs_contracting, rows);
      Shift(numbers.dot.rhs_batch, rows);
      Shift(numbers.dot.lhs_contracting, numbers.ragged);
      numbers.dot.lhs_contracting.insert(
          numbers.dot.lhs_contracting.begin() + pair, numbers.ragged);
      numbers.dot.rhs_contracting.insert(
          numbers.dot.rhs_contracting.begin() + pair, rows);
    } else {
      // Batch, then the rest of the left operand.
      const auto free = std::ranges::find(numbers.lhs_free, numbers.ragged) -
                        numbers.lhs_free.begin();
      const int64_t place =
          static_cast<int64_t>(numbers.dot.lhs_batch.size()) + free;
      shape = BlockedShape(dot.shape, place);
      Shift(numbers.dot.lhs_contracting, numbers.ragged);
    }
    Shift(numbers.dot.lhs_batch, numbers.ragged);
    ++numbers.ragged;
    Instruction* product = Like(dot, shape, {lhs, rhs, sizes});
    SetRaggedDotNumbers(numbers, *product);
    return Reshape(product, dot.shape.dimensions);
  }

  // By block, how many keys are each number. As `sizes` for all of them.
  Instruction* Counts(const RowUse& use, const Instruction& sizes) {
    const auto found = replaced_.find(use.keys);
    Instruction* keys = found != replaced_.end()
                            ? found->second
                            : const_cast<Instruction*>(use.keys);
    const int64_t groups = sizes.shape.dimensions[0];
    const ElementType type = sizes.shape.element_type;
    Instruction*& counts = counts_[{keys, groups, type}];
    if (counts != nullptr) return counts;
    keys = Blocked(keys, 0);
    const Dimensions each = {blocks_, keys->shape.dimensions[1], groups};
    const ElementType key = keys->shape.element_type;
    Instruction* repeated =
        Add(Opcode::kBroadcast, Shape::Array(key, each), {keys});
    repeated->attributes.mutate().dimensions = {0, 1};
    Instruction* number = Add(Opcode::kIota, Shape::Array(key, each), {});
    number->attributes.mutate().dimensions = {2};
    Instruction* equal =
        Add(Opcode::kCompare, Shape::Array(ElementType::kPred, each),
            {repeated, number});
    equal->attributes.mutate().comparison_direction = "EQ";
    Instruction* ones =
        Add(Opcode::kConvert, Shape::Array(type, each), {equal});
    counts = Add(Opcode::kReduce, Shape::Array(type, {blocks_, groups}),
                 {ones, Zero(type)});
    counts->attributes.mutate().dimensions = {1};
    counts->called = {Sum(type)};
    return counts;
  }

  // The position among the blocks' own rows, of indices of all rows.
  Instruction* LocalIndices(const Instruction& op, const RowUse& use) {
    Instruction* indices = Blocked(op.operands[1], use.indices_dimension);
    const ElementType type = indices->shape.element_type;
    const int64_t rows =
        op.operand_shape(0).dimensions[use.dimension] / blocks_;
    Instruction* block = Add(Opcode::kIota, indices->shape, {});
    block->attributes.mutate().dimensions = {use.indices_dimension};
    Instruction* size =
        Add(Opcode::kBroadcast, indices->shape, {Number(type, rows)});
    Instruction* first = Add(Opcode::kMultiply, indices->shape, {block, size});
    return Add(Opcode::kSubtract, indices->shape, {indices, first});
  }

  // The dimension of a gather's result, or a scatter's updates, that is
  // dimension `of_indices` of the indices.
  static int64_t PlaceOf(int64_t of_indices, int64_t vector,
                         const Dimensions& window, int64_t rank) {
    int64_t skip = of_indices - (vector < of_indices ? 1 : 0);
    for (int64_t i = 0; i < rank; ++i) {
      if (std::ranges::find(window, i) != window.end()) continue;
      if (skip-- == 0) return i;
    }
    MW_CHECK(false) << "no such dimension";
    return -1;
  }

  Shape BlockedShape(const Shape& shape, int64_t dimension) const {
    Dimensions sizes = shape.dimensions;
    sizes[dimension] /= blocks_;
    sizes.insert(sizes.begin() + dimension, blocks_);
    return Shape::Array(shape.element_type, std::move(sizes));
  }
  Instruction* Blocked(Instruction* value, int64_t dimension) {
    return Add(Opcode::kReshape, BlockedShape(value->shape, dimension),
               {value});
  }
  Instruction* Reshape(Instruction* value, const Dimensions& dimensions) {
    return Add(Opcode::kReshape,
               Shape::Array(value->shape.element_type, dimensions), {value});
  }

  Instruction* Number(ElementType type, int64_t number) {
    Literal literal;
    literal.shape = Shape::Scalar(type);
    literal.shape.layout = Layout();
    for (int64_t i = 0; i < HostBytes(type); ++i) {
      literal.data.push_back(static_cast<char>(number >> (8 * i)));
    }
    Instruction* constant = Add(Opcode::kConstant, literal.shape, {});
    constant->attributes.mutate().literal =
        std::make_shared<const Literal>(std::move(literal));
    return constant;
  }
  Instruction* Zero(ElementType type) { return Number(type, 0); }

  Computation* Sum(ElementType type) {
    Computation* sum = module_.AddComputation(NewName("count"));
    Instruction* a = sum->AddParameter(Shape::Scalar(type), NewName("a"));
    Instruction* b = sum->AddParameter(Shape::Scalar(type), NewName("b"));
    sum->set_root(
        sum->Add(Opcode::kAdd, Shape::Scalar(type), {a, b}, NewName("sum")));
    return sum;
  }

  Instruction* Like(const Instruction& op, Shape shape,
                    std::vector<Instruction*> operands) {
    Instruction* copy = Add(op.opcode, std::move(shape), std::move(operands));
    copy->called = op.called;
    copy->attributes = op.attributes;
    copy->frontend_attributes = op.frontend_attributes;
    copy->unknown_fields = op.unknown_fields;
    return copy;
  }

  Instruction* Add(Opcode opcode, Shape shape,
                   std::vector<Instruction*> operands) {
    Instruction* added =
        computation_.Add(opcode, std::move(shape), std::move(operands),
                         NewName(absl::StrCat(source_->name, ".block")));
    added->metadata = source_->metadata;
    order_.push_back(added);
    return added;
  }

  std::string NewName(const std::string& like) {
    std::string name = absl::StrCat(like, ".0");
    for (int i = 1; !names_.insert(name).second; ++i) {
      name = absl::StrCat(like, ".", i);
    }
    return name;
  }

  Module& module_;
  Computation& computation_;
  const int64_t blocks_;
  const std::map<const Instruction*, RowUse>& uses_;
  std::set<std::string>& names_;
  const Instruction* source_ = nullptr;
  std::vector<Instruction*> order_;
  std::map<const Instruction*, Instruction*> replaced_;
  std::set<const Instruction*> sorts_;  // The new ones.
  std::map<std::tuple<const Instruction*, int64_t, ElementType>, Instruction*>
      counts_;
};

bool HasSorts(const Module& module) {
  return std::ranges::any_of(
      module.computations(), [](const auto& computation) {
        return std::ranges::any_of(
            computation->instructions(), [](const auto& instruction) {
              return instruction->opcode == Opcode::kSort;
            });
      });
}

// Of those that there are before any is added.
std::vector<Computation*> ComputationsOf(const Module& module) {
  std::vector<Computation*> computations;
  for (const auto& computation : module.computations()) {
    computations.push_back(computation.get());
  }
  return computations;
}

// By computation; empty if none has rows that may be sorted so.
using Uses = std::map<Computation*, std::map<const Instruction*, RowUse>>;

Uses UsesIn(const std::vector<Computation*>& computations, int64_t blocks) {
  Uses uses;
  for (Computation* computation : computations) {
    auto found = FindRowOrders(*computation, blocks);
    if (!found.empty()) uses[computation] = std::move(found);
  }
  return uses;
}

size_t CountOf(const Uses& uses) {
  size_t count = 0;
  for (const auto& [computation, some] : uses) count += some.size();
  return count;
}

}  // namespace

std::optional<Module> SortInBlocks(const Module& module, int64_t count,
                                   int64_t times) {
  if (!HasSorts(module)) return std::nullopt;
  Module copy = InlineCalls(module);
  SinkLoopConstants(copy);
  const std::vector<Computation*> computations = ComputationsOf(copy);
  // What may be in many blocks may be in fewer.
  int64_t blocks = count;
  Uses uses = UsesIn(computations, blocks);
  for (int64_t part = 1; part < times && !uses.empty(); ++part) {
    if (times % part != 0) continue;
    Uses more = UsesIn(computations, count * (times / part));
    if (CountOf(more) < CountOf(uses)) continue;
    blocks = count * (times / part);
    uses = std::move(more);
    break;
  }
  if (uses.empty() || blocks == 1) return std::nullopt;
  std::set<std::string> names;
  for (const Computation* computation : computations) {
    names.insert(computation->name());
    for (const auto& instruction : computation->instructions()) {
      names.insert(instruction->name);
    }
  }
  for (Computation* computation : computations) {
    const auto found = uses.find(computation);
    if (found == uses.end()) continue;
    Rewriter(copy, *computation, blocks, found->second, names).Run();
  }
  copy.Finish();
  return copy;
}

std::string SortedRowsNote(int64_t blocks) {
  return absl::StrCat(
      "rows are sorted in ", blocks,
      " blocks, so that devices can sort their own: nothing in the step "
      "depends on their order in the batch");
}

}  // namespace meshwright
