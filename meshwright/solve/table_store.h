// Cost tables, each kept once, with what the reductions ask about them.
#ifndef MESHWRIGHT_SOLVE_TABLE_STORE_H_
#define MESHWRIGHT_SOLVE_TABLE_STORE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

using TableId = int32_t;

// What the cells say about rows, worked out when first asked for.
struct TableFacts {
  std::vector<char> dead_rows;  // By row: no finite cell; empty when none is.
  // Every row has exactly one finite cell; then its column, by row.
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
    TableId transposed = -1;
    bool has_facts = false;
    TableFacts facts;
  };

  std::deque<Entry> tables_;
  // By hash of the table; lists hold the rare tables of equal hash.
  absl::flat_hash_map<uint64_t, std::vector<TableId>> by_hash_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_TABLE_STORE_H_
