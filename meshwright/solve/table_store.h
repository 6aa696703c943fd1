// Interned cost tables, with the facts about them that reductions need.
#ifndef MESHWRIGHT_SOLVE_TABLE_STORE_H_
#define MESHWRIGHT_SOLVE_TABLE_STORE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/base/strong_id.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

using TableId = StrongId<struct TableIdTag>;

// Facts about the rows of a table, computed when first needed.
struct TableFacts {
  // By row: no finite cell. Empty if no row is dead.
  std::vector<char> dead_rows;
  // If every row has exactly one finite cell: its column, by row.
  std::vector<int32_t> implied;
  // Every cell is the sum of a part of its row and a part of its column.
  bool separable = false;
  std::vector<int64_t> row_part;
  std::vector<int64_t> column_part;
};

class TableStore {
 public:
  TableId Intern(CostTable table);
  const CostTable& operator[](TableId id) const { return tables_[id].table; }

  TableId Transpose(TableId id);
  // The table whose row i is row `rows[i]` of `id`.
  TableId SelectRows(TableId id, absl::Span<const int32_t> rows);
  TableId Sum(TableId a, TableId b);

  const TableFacts& Facts(TableId id);

 private:
  struct Entry {
    CostTable table;
    TableId transposed{-1};
    bool has_facts = false;
    TableFacts facts;
  };

  std::deque<Entry> tables_;
  // By hash; more than one table only for the rare equal hashes.
  absl::flat_hash_map<uint64_t, std::vector<TableId>> by_hash_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_TABLE_STORE_H_
