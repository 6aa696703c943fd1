// Names of the groups of a plan that the user recognises.
//
//   StudyNames names(*study);
//   names.Of(7);                   // "blocks/*/attn/qkv/dot_general x 12"
//   names.GroupCalled("blocks/3/attn/qkv");    // 7
//   names.GroupCalled("*qkv*");    // Error that lists the candidates.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

class StudyNames {
 public:
  // The study must outlive it.
  explicit StudyNames(const PlanStudy& study);

  // The names of all ops of a group, folded into a pattern.
  std::string Of(int32_t group) const;

  // The group of an op, parameter or output, given its HLO name, its display
  // name, a part of that which is unique to a group, or a pattern with *.
  // kInvalidArgument, with similar names or the candidates, otherwise.
  absl::StatusOr<int32_t> GroupCalled(absl::string_view name) const;

 private:
  struct Entry {
    std::string shown;
    std::string hlo;
    int32_t group = 0;
    int rank = 0;  // In the order of how likely users are to mean it.
  };

  // By group: the first matching entry.
  using Matching = std::map<int32_t, const Entry*>;

  absl::Status Ambiguous(absl::string_view name,
                         const Matching& matching) const;

  const PlanStudy& study_;
  std::vector<Entry> entries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_
