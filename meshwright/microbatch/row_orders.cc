#include "meshwright/microbatch/row_orders.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/microbatch/group_counts.h"
#include "meshwright/microbatch/index_values.h"
#include "meshwright/microbatch/row_traits.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

// How the elements of an array depend on the order of rows.
struct Rows {
  const Instruction* sort = nullptr;  // Null: not at all.
  int64_t dimension = 0;              // Has the rows.
  // The rows are in the order of the batch, but what they hold are positions in
  // that of the sort.
  bool positions = false;

  bool operator==(const Rows&) const = default;
};

class Finder {
 public:
  Finder(const Computation& computation, int64_t blocks,
         const std::set<const Instruction*>& excluded)
      : computation_(computation), blocks_(blocks), excluded_(excluded) {}

  // The sort whose rows cannot be followed; null if all can.
  const Instruction* Run() {
    for (const auto& instruction : computation_.instructions()) {
      Follow(*instruction);
      if (failed_ != nullptr) return failed_;
    }
    for (const Rows& rows : Of(*computation_.root())) {
      if (rows.sort != nullptr) return rows.sort;
    }
    return nullptr;
  }

  std::map<const Instruction*, RowUse> uses() && { return std::move(uses_); }

 private:
  // By leaf of the value.
  const std::vector<Rows>& Of(const Instruction& value) const {
    return rows_.at(&value);
  }
  const Rows& First(const Instruction& value) const {
    return Of(value).empty() ? none_ : Of(value)[0];
  }
  void Fail(const Instruction* sort) { failed_ = sort; }

  void Follow(const Instruction& op) {
    std::vector<Rows>& result = rows_[&op];
    result.resize(Leaves(op.shape).size());
    if (op.opcode == Opcode::kTuple || op.opcode == Opcode::kOptBarrier) {
      result.clear();
      for (const Instruction* operand : op.operands) {
        result.insert(result.end(), Of(*operand).begin(), Of(*operand).end());
      }
      return;
    }
    if (op.opcode == Opcode::kGetTupleElement) {
      const Instruction& tuple = *op.operands[0];
      size_t first = 0;
      for (int64_t i = 0; i < op.attributes->tuple_index; ++i) {
        first += Leaves(tuple.shape.tuple_shapes[i]).size();
      }
      std::copy_n(Of(tuple).begin() + first, result.size(), result.begin());
      return;
    }
    if (IsCandidate(op) && FollowSort(op, result)) return;
    const Instruction* sort = nullptr;
    for (const Instruction* operand : op.operands) {
      for (const Rows& rows : Of(*operand)) {
        if (rows.sort == nullptr) continue;
        if (sort != nullptr && sort != rows.sort) return Fail(rows.sort);
        sort = rows.sort;
      }
    }
    if (sort == nullptr) return;
    if (op.opcode == Opcode::kRaggedDot && !CountsRows(op, *sort)) {
      return Fail(sort);
    }
    if (op.opcode == Opcode::kGather && TakesBack(op, *sort)) return;
    if (op.opcode == Opcode::kScatter && PutsBack(op, *sort, result)) return;
    if (op.opcode == Opcode::kScatter && PutsEach(op, *sort)) return;
    if (!FollowRule(op, result)) return Fail(sort);
    if (op.opcode == Opcode::kGather) Take(op, *sort);
    if (op.opcode == Opcode::kScatter) Put(op, *sort);
    ForgetConstants(op, *sort, result);
  }

  bool IsCandidate(const Instruction& op) const {
    return NumbersRows(op) && !excluded_.contains(&op) &&
           op.operand_shape(0).dimensions[0] % blocks_ == 0;
  }

  bool FollowSort(const Instruction& sort, std::vector<Rows>& result) {
    const Instruction& keys = *sort.operands[0];
    const Rows& sorted = First(keys);
    if (sorted.sort == nullptr) {
      result = {{&sort, 0}, {&sort, 0}};
    } else if (IsNumberOf(keys, *sorted.sort) && !sorted.positions) {
      // The inverse permutation; its keys become 0, 1, 2, ...
      result = {{}, {sorted.sort, 0, /*positions=*/true}};
      inverses_[sorted.sort].push_back(&sort);
    } else {
      return false;
    }
    uses_[&sort] = {.kind = RowUse::Kind::kSort};
    return true;
  }

  // The values of `value` for those of the numbers that `sort` gives.
  std::optional<std::vector<int64_t>> Numbered(
      const Instruction& value, const Instruction& sort,
      const std::vector<int64_t>& elements) const {
    for (const auto& numbers : computation_.instructions()) {
      if (numbers->opcode != Opcode::kGetTupleElement ||
          numbers->operands[0] != &sort ||
          numbers->attributes->tuple_index != 1) {
        continue;
      }
      return ValuesOf(value, *numbers, elements);
    }
    return std::nullopt;
  }

  bool IsNumberOf(const Instruction& value, const Instruction& sort) const {
    const std::vector<int64_t> elements = ElementsOf(sort);
    return Numbered(value, sort, elements) == elements;
  }
  // Whether these are the positions of rows in the order of `sort`.
  bool IsPosition(const Instruction& value, const Instruction& sort) const {
    const auto found = inverses_.find(&sort);
    return found != inverses_.end() &&
           std::ranges::any_of(found->second, [&](const Instruction* inverse) {
             return IsNumberOf(value, *inverse);
           });
  }
  // 0, 1, ..., rows - 1.
  static std::vector<int64_t> ElementsOf(const Instruction& sort) {
    std::vector<int64_t> elements(sort.operand_shape(0).dimensions[0]);
    std::iota(elements.begin(), elements.end(), 0);
    return elements;
  }

  // Whether rows find their number's block of `size` rows in their own block.
  bool StaysInBlock(const Instruction& indices, const Instruction& sort,
                    int64_t size) const {
    if (blocks_ == 1) return true;
    if (size % blocks_ != 0) return false;
    const std::vector<int64_t> elements = ElementsOf(sort);
    const auto found = Numbered(indices, sort, elements);
    if (!found.has_value() || found->size() != elements.size()) return false;
    const int64_t rows = sort.operand_shape(0).dimensions[0] / blocks_;
    for (size_t i = 0; i < elements.size(); ++i) {
      if ((*found)[i] < 0 || (*found)[i] >= size ||
          (*found)[i] / (size / blocks_) != elements[i] / rows) {
        return false;
      }
    }
    return true;
  }

  bool CountsRows(const Instruction& dot, const Instruction& sort) {
    const auto numbers = RaggedDotNumbersOf(dot);
    const Rows& rows = First(*dot.operands[0]);
    if (!numbers.ok() || !numbers->outer.empty() || rows.sort != &sort ||
        rows.positions || rows.dimension != numbers->ragged ||
        numbers->kind == RaggedDotNumbers::Ragged::kBatch ||
        First(*dot.operands[2]).sort != nullptr ||
        !CountsKeys(*dot.operands[2], *sort.operands[0])) {
      return false;
    }
    uses_[&dot] = {.kind = RowUse::Kind::kRagged,
                   .dimension = rows.dimension,
                   .keys = sort.operands[0]};
    return true;
  }

  // The only dimension that is indexed, one element at a time.
  static std::optional<int64_t> Indexed(const Instruction& op) {
    if (op.opcode == Opcode::kGather) {
      const GatherDimensionNumbers& numbers = *op.attributes->gather;
      const std::vector<int64_t>& map = numbers.start_index_map;
      if (map.size() != 1 || numbers.collapsed_slice_dims != map ||
          !numbers.operand_batching_dims.empty()) {
        return std::nullopt;
      }
      return map[0];
    }
    const ScatterDimensionNumbers& numbers = *op.attributes->scatter;
    const std::vector<int64_t>& map = numbers.scatter_dims_to_operand_dims;
    if (op.operands.size() != 3 || map.size() != 1 ||
        numbers.inserted_window_dims != map ||
        !numbers.input_batching_dims.empty()) {
      return std::nullopt;
    }
    return map[0];
  }

  // result = rows[position]: in the order of the batch again.
  bool TakesBack(const Instruction& gather, const Instruction& sort) {
    const Rows& rows = First(*gather.operands[0]);
    const Rows& at = First(*gather.operands[1]);
    const std::optional<int64_t> dimension = Indexed(gather);
    if (rows.sort == nullptr || rows.positions || !at.positions ||
        dimension != rows.dimension || !IsPosition(*gather.operands[1], sort)) {
      return false;
    }
    uses_[&gather] = {RowUse::Kind::kTake, *dimension, at.dimension};
    return true;
  }

  // rows = zeros.at[position].add(updates): in the order of the sort.
  bool PutsBack(const Instruction& scatter, const Instruction& sort,
                std::vector<Rows>& result) {
    const std::optional<int64_t> dimension = Indexed(scatter);
    const Rows& at = First(*scatter.operands[1]);
    const Instruction& target = *scatter.operands[0];
    if (!at.positions || !dimension.has_value() ||
        First(*scatter.operands[2]).sort != nullptr ||
        First(target).sort != nullptr || !IsSameAlong(target, *dimension) ||
        !IsPosition(*scatter.operands[1], sort)) {
      return false;
    }
    result = {{&sort, *dimension}};
    uses_[&scatter] = {RowUse::Kind::kPut, *dimension, at.dimension};
    return true;
  }

  // result = zeros.at[number].set(rows): in the order of the batch again.
  bool PutsEach(const Instruction& scatter, const Instruction& sort) {
    const std::optional<int64_t> dimension = Indexed(scatter);
    const Rows& at = First(*scatter.operands[1]);
    const Rows& rows = First(*scatter.operands[2]);
    if (at.sort == nullptr || at.positions || !dimension.has_value() ||
        First(*scatter.operands[0]).sort != nullptr || rows.positions ||
        rows.sort != &sort ||
        scatter.shape.dimensions[*dimension] !=
            sort.operand_shape(0).dimensions[0] ||
        std::ranges::count(scatter.attributes->scatter->update_window_dims,
                           rows.dimension) > 0 ||
        !IsNumberOf(*scatter.operands[1], sort)) {
      return false;
    }
    uses_[&scatter] = {RowUse::Kind::kPut, *dimension, at.dimension};
    return true;
  }

  void Take(const Instruction& gather, const Instruction& sort) {
    const std::optional<int64_t> dimension = Indexed(gather);
    const Rows& at = First(*gather.operands[1]);
    if (at.sort == nullptr || at.positions || !dimension.has_value()) return;
    const int64_t size = gather.operand_shape(0).dimensions[*dimension];
    if (!StaysInBlock(*gather.operands[1], sort, size)) return;
    uses_[&gather] = {RowUse::Kind::kTake, *dimension, at.dimension};
  }

  void Put(const Instruction& scatter, const Instruction& sort) {
    const std::optional<int64_t> dimension = Indexed(scatter);
    const Rows& at = First(*scatter.operands[1]);
    if (at.sort == nullptr || at.positions || !dimension.has_value()) return;
    const int64_t size = scatter.shape.dimensions[*dimension];
    if (!StaysInBlock(*scatter.operands[1], sort, size)) return;
    uses_[&scatter] = {RowUse::Kind::kPut, *dimension, at.dimension};
  }

  // Rows stay rows where the sharding rule keeps them, and are gone where it
  // reduces them.
  bool FollowRule(const Instruction& op, std::vector<Rows>& result) const {
    if (EntryFor(op.opcode).structure != Structure::kNone) return false;
    const Rule rule = RuleFor(op);
    std::vector<std::pair<const Instruction*, Rows>> leaves;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      for (const Rows& rows : Of(*op.operands[i])) {
        leaves.push_back({op.operands[i], rows});
        if (rows.sort != nullptr && !TreatsRowsEqually(op, i, rows.dimension)) {
          return false;
        }
      }
    }
    if (rule.is_fallback || leaves.size() != rule.operands.size()) return false;
    std::optional<int32_t> followed;  // No array has rows in two dimensions.
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Rows& rows = leaves[i].second;
      if (rows.sort == nullptr) continue;
      const DimFactors& dim = rule.operands[i][rows.dimension];
      if (dim.size() != 1 || followed.value_or(dim[0]) != dim[0] ||
          !FollowFactor(rule, dim[0], rows, leaves, result)) {
        return false;
      }
      followed = dim[0];
    }
    return true;
  }

  bool FollowFactor(
      const Rule& rule, int32_t factor, const Rows& rows,
      const std::vector<std::pair<const Instruction*, Rows>>& leaves,
      std::vector<Rows>& result) const {
    const bool reduced = rule.factors[factor].kind == FactorKind::kReduced;
    if (!reduced && rule.factors[factor].kind != FactorKind::kKept)
      return false;
    if (reduced && rows.positions) return false;
    for (size_t i = 0; i < leaves.size(); ++i) {
      const auto& [operand, others] = leaves[i];
      for (size_t d = 0; d < rule.operands[i].size(); ++d) {
        const DimFactors& dim = rule.operands[i][d];
        if (std::ranges::find(dim, factor) == dim.end()) continue;
        Rows wanted = rows;
        wanted.dimension = static_cast<int64_t>(d);
        if (dim.size() != 1) return false;
        if (others == wanted) continue;
        // What is in the order of the batch goes with positions.
        if (others.sort != nullptr ||
            (!rows.positions &&
             !(operand->shape.IsArray() &&
               IsSameAlong(*operand, static_cast<int64_t>(d))))) {
          return false;
        }
      }
    }
    for (size_t i = 0; i < rule.results.size(); ++i) {
      bool has = false;
      for (size_t d = 0; d < rule.results[i].size(); ++d) {
        const DimFactors& dim = rule.results[i][d];
        if (std::ranges::find(dim, factor) == dim.end()) continue;
        if (dim.size() != 1 || reduced) return false;
        result[i] = rows;
        result[i].dimension = static_cast<int64_t>(d);
        has = true;
      }
      if (!has && !reduced) return false;
    }
    return true;
  }

  // Whether positions are in bounds does not depend on them.
  void ForgetConstants(const Instruction& op, const Instruction& sort,
                       std::vector<Rows>& result) const {
    if (result.size() != 1 || !result[0].positions) return;
    const auto found = inverses_.find(&sort);
    if (found == inverses_.end()) return;
    for (const Instruction* inverse : found->second) {
      const auto values = Numbered(op, *inverse, ElementsOf(sort));
      if (values.has_value() &&
          std::ranges::adjacent_find(*values, std::not_equal_to<>()) ==
              values->end()) {
        result[0] = {};
        return;
      }
    }
  }

  const Computation& computation_;
  const int64_t blocks_;
  const std::set<const Instruction*>& excluded_;
  const Rows none_;
  const Instruction* failed_ = nullptr;
  std::map<const Instruction*, std::vector<Rows>> rows_;
  // By sort: those that sort its numbers.
  std::map<const Instruction*, std::vector<const Instruction*>> inverses_;
  std::map<const Instruction*, RowUse> uses_;
};

}  // namespace

std::map<const Instruction*, RowUse> FindRowOrders(
    const Computation& computation, int64_t blocks) {
  std::set<const Instruction*> excluded;
  while (true) {
    Finder finder(computation, blocks, excluded);
    const Instruction* failed = finder.Run();
    if (failed == nullptr) return std::move(finder).uses();
    excluded.insert(failed);
  }
}

}  // namespace meshwright
