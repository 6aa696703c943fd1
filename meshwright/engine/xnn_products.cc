#include "meshwright/engine/xnn_products.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/element_type.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

using Dimensions = std::vector<int64_t>;

// Below, dividing a product takes longer than it saves, or XNNPACK's copy of a
// matrix takes as long as multiplying it.
constexpr int64_t kLeastMultiplications = 1 << 18;
constexpr int64_t kLeastRows = 8;

constexpr char kFusionConfig[] = R"({"fusion_config":{"kind":"__xnn_fusion"}})";

int64_t Product(const Dimensions& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

// An operand: its dimensions, and which of them are batch dimensions,
// contracted, and free.
struct Side {
  int64_t id = 0;
  Dimensions sizes;
  Dimensions batch;
  Dimensions contracted;
  Dimensions free;

  Dimensions Sizes(const Dimensions& of) const {
    Dimensions some;
    for (const int64_t i : of) some.push_back(sizes[i]);
    return some;
  }
  Dimensions Order(const Dimensions& inner, const Dimensions& innermost) const {
    Dimensions order = batch;
    order.insert(order.end(), inner.begin(), inner.end());
    order.insert(order.end(), innermost.begin(), innermost.end());
    return order;
  }
  Dimensions ByRows() const { return Order(free, contracted); }
  Dimensions ByColumns() const { return Order(contracted, free); }
};

bool IsSorted(const Dimensions& order) {
  return std::is_sorted(order.begin(), order.end());
}

template <typename Numbers>
Side SideOf(const pb::HloInstructionProto& operand, const Numbers& batch,
            const Numbers& contracted) {
  Side side{.id = operand.id(),
            .sizes = {operand.shape().dimensions().begin(),
                      operand.shape().dimensions().end()},
            .batch = {batch.begin(), batch.end()},
            .contracted = {contracted.begin(), contracted.end()}};
  for (int64_t i = 0; i < std::ssize(side.sizes); ++i) {
    if (std::ranges::count(side.batch, i) == 0 &&
        std::ranges::count(side.contracted, i) == 0) {
      side.free.push_back(i);
    }
  }
  return side;
}

bool IsF32(const pb::HloInstructionProto& op) {
  return op.shape().element_type() == static_cast<int32_t>(ElementType::kF32);
}

void SetShape(const Dimensions& sizes, pb::ShapeProto& shape) {
  shape.set_element_type(static_cast<int32_t>(ElementType::kF32));
  for (const int64_t size : sizes) {
    shape.add_dimensions(size);
    shape.add_is_dynamic_dimension(false);
  }
  for (int64_t i = std::ssize(sizes) - 1; i >= 0; --i) {
    shape.mutable_layout()->add_minor_to_major(i);
  }
}

// Replaces the products of one module.
class Rewriter {
 public:
  explicit Rewriter(pb::HloModuleProto& module) : module_(module) {
    for (const auto& computation : module.computations()) {
      last_id_ = std::max(last_id_, computation.id());
      for (const auto& op : computation.instructions()) {
        last_id_ = std::max(last_id_, op.id());
      }
    }
  }

  // Whether there were any.
  bool Rewrite() {
    for (auto& computation : *module_.mutable_computations()) {
      if (!computation.is_fusion_computation()) Rewrite(computation);
    }
    if (bodies_.empty()) return false;
    // Computations come before their callers.
    std::vector<pb::HloComputationProto> callers(
        std::make_move_iterator(module_.mutable_computations()->begin()),
        std::make_move_iterator(module_.mutable_computations()->end()));
    module_.clear_computations();
    for (auto* list : {&bodies_, &callers}) {
      for (auto& each : *list) *module_.add_computations() = std::move(each);
    }
    return true;
  }

 private:
  void Rewrite(pb::HloComputationProto& computation) {
    std::map<int64_t, const pb::HloInstructionProto*> by_id;
    std::vector<pb::HloInstructionProto> ops(
        std::make_move_iterator(computation.mutable_instructions()->begin()),
        std::make_move_iterator(computation.mutable_instructions()->end()));
    for (const auto& op : ops) by_id[op.id()] = &op;
    computation.clear_instructions();
    out_ = &computation;
    for (auto& op : ops) {
      const bool is_dot = op.opcode() == "dot" && op.operand_ids_size() == 2;
      if (!is_dot ||
          !Divide(op, *by_id[op.operand_ids(0)], *by_id[op.operand_ids(1)])) {
        *computation.add_instructions() = op;
      }
    }
  }

  // Adds `dot` as a fusion; not if XNNPACK would gain nothing.
  bool Divide(const pb::HloInstructionProto& dot,
              const pb::HloInstructionProto& lhs,
              const pb::HloInstructionProto& rhs) {
    const pb::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
    if (!IsF32(dot) || !IsF32(lhs) || !IsF32(rhs)) return false;
    Side left = SideOf(lhs, numbers.lhs_batch_dimensions(),
                       numbers.lhs_contracting_dimensions());
    Side right = SideOf(rhs, numbers.rhs_batch_dimensions(),
                        numbers.rhs_contracting_dimensions());
    const int64_t batch = Product(left.Sizes(left.batch));
    const int64_t depth = Product(left.Sizes(left.contracted));
    int64_t rows = Product(left.Sizes(left.free));
    int64_t columns = Product(right.Sizes(right.free));
    if (batch < 2 || std::min(rows, columns) < kLeastRows ||
        batch * rows * columns * depth < kLeastMultiplications) {
      return false;
    }
    // XNNPACK multiplies rows by rows or columns, and copies the latter into
    // an order of its own: the smaller side, unless the larger one has columns.
    const bool right_is_larger = Product(right.sizes) > Product(left.sizes);
    const Side& larger = right_is_larger ? right : left;
    const bool has_columns =
        IsSorted(larger.ByColumns()) && !IsSorted(larger.ByRows());
    const bool is_swapped = right_is_larger != has_columns;
    if (is_swapped) {
      std::swap(left, right);
      std::swap(rows, columns);
    }
    const bool by_rows = IsSorted(right.ByRows());

    source_ = &dot;
    const int64_t a =
        Matrices(left.id, left, left.ByRows(), {batch, rows, depth}, "left");
    const int64_t b =
        Matrices(right.id, right, by_rows ? right.ByRows() : right.ByColumns(),
                 by_rows ? Dimensions{batch, columns, depth}
                         : Dimensions{batch, depth, columns},
                 "right");
    auto& fusion = Add("fusion", {batch, rows, columns}, {a, b}, "product");
    fusion.set_fusion_kind("kCustom");
    fusion.set_backend_config(kFusionConfig);
    fusion.add_called_computation_ids(AddBody(fusion, a, b, by_rows));
    Finish(fusion.id(), left, right, is_swapped);
    return true;
  }

  // The operand with one dimension each for batch, rows and columns.
  int64_t Matrices(int64_t id, const Side& side, const Dimensions& order,
                   const Dimensions& sizes, const char* name) {
    if (!IsSorted(order)) {
      auto& moved = Add("transpose", side.Sizes(order), {id},
                        absl::StrCat(name, ".order").c_str());
      moved.mutable_dimensions()->Assign(order.begin(), order.end());
      id = moved.id();
    }
    return Add("reshape", sizes, {id}, name).id();
  }

  // The dot's own dimensions, under its id and name.
  void Finish(int64_t product, const Side& left, const Side& right,
              bool is_swapped) {
    const Dimensions batch = left.Sizes(left.batch);
    Dimensions sizes = batch;
    for (const Dimensions& each :
         {left.Sizes(left.free), right.Sizes(right.free)}) {
      sizes.insert(sizes.end(), each.begin(), each.end());
    }
    pb::HloInstructionProto last = *source_;
    last.clear_operand_ids();
    last.clear_dot_dimension_numbers();
    last.clear_precision_config();
    if (!is_swapped) {
      last.set_opcode("reshape");
      last.add_operand_ids(product);
    } else {
      last.set_opcode("transpose");
      last.add_operand_ids(Add("reshape", sizes, {product}, "swapped").id());
      Dimensions order(sizes.size());
      std::iota(order.begin(), order.end(), 0);
      const auto first = order.begin() + std::ssize(batch);
      std::rotate(first, first + std::ssize(left.free), order.end());
      last.mutable_dimensions()->Assign(order.begin(), order.end());
    }
    *out_->add_instructions() = std::move(last);
  }

  pb::HloInstructionProto& Add(const char* opcode, const Dimensions& sizes,
                               const Dimensions& operands, const char* name) {
    pb::HloInstructionProto& op = *out_->add_instructions();
    op.set_name(absl::StrCat(source_->name(), ".", name));
    op.set_opcode(opcode);
    op.set_id(++last_id_);
    SetShape(sizes, *op.mutable_shape());
    op.mutable_operand_ids()->Assign(operands.begin(), operands.end());
    *op.mutable_metadata() = source_->metadata();
    return op;
  }

  int64_t AddBody(const pb::HloInstructionProto& fusion, int64_t a, int64_t b,
                  bool by_rows) {
    pb::HloComputationProto& body = bodies_.emplace_back();
    body.set_name(absl::StrCat(source_->name(), ".xnn"));
    body.set_is_fusion_computation(true);
    Dimensions parameters;
    for (const int64_t operand : {a, b}) {
      const auto& ops = out_->instructions();
      const auto found =
          std::find_if(ops.rbegin(), ops.rend(),
                       [&](const auto& op) { return op.id() == operand; });
      pb::HloInstructionProto& parameter = *body.add_instructions();
      parameter.set_name(absl::StrCat(found->name(), ".xnn"));
      parameter.set_opcode("parameter");
      parameter.set_parameter_number(std::ssize(parameters));
      parameter.set_id(++last_id_);
      *parameter.mutable_shape() = found->shape();
      parameters.push_back(parameter.id());
      *body.mutable_program_shape()->add_parameters() = found->shape();
    }
    pb::HloInstructionProto& dot = *body.add_instructions();
    dot.set_name(absl::StrCat(fusion.name(), ".xnn"));
    dot.set_opcode("dot");
    dot.set_id(++last_id_);
    *dot.mutable_shape() = fusion.shape();
    dot.mutable_operand_ids()->Assign(parameters.begin(), parameters.end());
    pb::DotDimensionNumbers& numbers = *dot.mutable_dot_dimension_numbers();
    numbers.add_lhs_batch_dimensions(0);
    numbers.add_rhs_batch_dimensions(0);
    numbers.add_lhs_contracting_dimensions(2);
    numbers.add_rhs_contracting_dimensions(by_rows ? 2 : 1);
    *dot.mutable_precision_config() = source_->precision_config();
    body.set_root_id(dot.id());
    *body.mutable_program_shape()->mutable_result() = fusion.shape();
    body.set_id(++last_id_);
    return body.id();
  }

  pb::HloModuleProto& module_;
  int64_t last_id_ = 0;
  std::vector<pb::HloComputationProto> bodies_;
  // Where instructions are added, and in whose place.
  pb::HloComputationProto* out_ = nullptr;
  const pb::HloInstructionProto* source_ = nullptr;
};

}  // namespace

std::optional<std::string> WithXnnProducts(absl::string_view module) {
  if (!absl::StrContains(module, "dot")) return std::nullopt;
  pb::HloModuleProto proto;
  if (!proto.ParseFromArray(module.data(), static_cast<int>(module.size()))) {
    return std::nullopt;
  }
  if (proto.has_schedule() || !Rewriter(proto).Rewrite()) return std::nullopt;
  return proto.SerializeAsString();
}

}  // namespace meshwright
