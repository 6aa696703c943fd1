#include "meshwright/solve/table_store.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

uint64_t Hash(const CostTable& table) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(table.columns);
  for (const int64_t cell : table.cells) {
    hash = (hash ^ static_cast<uint64_t>(cell)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

bool IsFinite(int64_t cost) { return cost < kInfiniteCost; }

// By row: the column of its only finite cell; empty unless every row has one.
std::vector<int32_t> ImpliedColumns(const CostTable& table) {
  std::vector<int32_t> columns(table.rows, -1);
  for (int32_t row = 0; row < table.rows; ++row) {
    const int64_t* const cells = &table.cells[int64_t{row} * table.columns];
    for (int32_t column = 0; column < table.columns; ++column) {
      if (!IsFinite(cells[column])) continue;
      if (columns[row] >= 0) return {};
      columns[row] = column;
    }
    if (columns[row] < 0) return {};
  }
  return columns;
}

std::vector<char> DeadRows(const CostTable& table) {
  std::vector<char> dead(table.rows, 0);
  bool any = false;
  for (int32_t row = 0; row < table.rows; ++row) {
    const auto begin = table.cells.begin() + int64_t{row} * table.columns;
    dead[row] = std::none_of(begin, begin + table.columns, IsFinite);
    any |= dead[row] != 0;
  }
  return any ? dead : std::vector<char>();
}

void FindParts(const CostTable& table, TableFacts* facts) {
  if (!std::ranges::all_of(table.cells, IsFinite)) return;
  for (int32_t row = 0; row < table.rows; ++row) {
    const int64_t* const cells = &table.cells[int64_t{row} * table.columns];
    facts->row_part.push_back(*std::min_element(cells, cells + table.columns));
    for (int32_t column = 0; column < table.columns; ++column) {
      const int64_t rest = cells[column] - facts->row_part[row];
      if (row == 0) facts->column_part.push_back(rest);
      if (facts->column_part[column] != rest) return;
    }
  }
  facts->separable = true;
}

}  // namespace

TableId TableStore::Intern(CostTable table) {
  std::vector<TableId>& same_hash = by_hash_[Hash(table)];
  for (const TableId id : same_hash) {
    if (tables_[id].table == table) return id;
  }
  const auto id = static_cast<TableId>(tables_.size());
  same_hash.push_back(id);
  tables_.push_back({.table = std::move(table)});
  return id;
}

TableId TableStore::Transpose(TableId id) {
  if (tables_[id].transposed >= 0) return tables_[id].transposed;
  const CostTable& table = tables_[id].table;
  CostTable turned = {table.columns, table.rows, {}};
  turned.cells.reserve(table.cells.size());
  for (int32_t column = 0; column < table.columns; ++column) {
    for (int32_t row = 0; row < table.rows; ++row) {
      turned.cells.push_back(
          table.cells[int64_t{row} * table.columns + column]);
    }
  }
  const TableId result = Intern(std::move(turned));
  tables_[id].transposed = result;
  tables_[result].transposed = id;
  return result;
}

TableId TableStore::SelectRows(TableId id, absl::Span<const int32_t> rows) {
  const CostTable& table = tables_[id].table;
  CostTable selected = {static_cast<int32_t>(rows.size()), table.columns, {}};
  selected.cells.reserve(rows.size() * table.columns);
  for (const int32_t row : rows) {
    const auto begin = table.cells.begin() + int64_t{row} * table.columns;
    selected.cells.insert(selected.cells.end(), begin, begin + table.columns);
  }
  return Intern(std::move(selected));
}

TableId TableStore::Sum(TableId a, TableId b) {
  CostTable sum = tables_[a].table;
  const CostTable& other = tables_[b].table;
  MW_CHECK(sum.rows == other.rows && sum.columns == other.columns);
  for (size_t i = 0; i < sum.cells.size(); ++i) {
    sum.cells[i] = AddCosts(sum.cells[i], other.cells[i]);
  }
  return Intern(std::move(sum));
}

const TableFacts& TableStore::Facts(TableId id) {
  Entry& entry = tables_[id];
  if (!entry.has_facts) {
    entry.facts.dead_rows = DeadRows(entry.table);
    entry.facts.implied = ImpliedColumns(entry.table);
    FindParts(entry.table, &entry.facts);
    entry.has_facts = true;
  }
  return entry.facts;
}

}  // namespace meshwright
