// Names of the groups of a plan that the user recognises.
//
//   StudyNames names(*study);
//   names.Of(7);                   // "blocks/*/attn/qkv/dot_general x 12"
//   names.Called("blocks/3/attn/qkv/w")->groups;   // {7}
//   names.Called("blocks/3/attn")->groups;         // {7, 9, 12}: a module
//   names.Called("block_3");       // Error that lists similar names.
#ifndef MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_
#define MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/explain/explain_study.h"

namespace meshwright {

// What a name stands for.
struct NamedPart {
  std::string name;
  std::set<GroupId> groups;  // Of its ops; never empty.
  std::set<int32_t> ops;     // Ops, parameters and outputs, of the flat graph.
};

class StudyNames {
 public:
  // The study must outlive it.
  explicit StudyNames(const PlanStudy& study);

  // The names of all ops of a group, folded into a pattern.
  std::string Of(GroupId group) const;

  // The ops, parameters and outputs that are given by an HLO name, a display
  // name or its end, the path of a module or of a subtree of the state ("attn"
  // of blocks/3/attn/qkv), or a pattern with *; or by a part of a display name
  // that is unique to a group. kInvalidArgument, with similar names or the
  // candidates, otherwise.
  absl::StatusOr<NamedPart> Called(absl::string_view name) const;

 private:
  struct Entry {
    std::string shown;
    std::string hlo;
    int32_t op = 0;
    GroupId group;
    int rank = 0;  // In the order of how likely users are to mean it.
  };

  std::vector<const Entry*> Matching(absl::string_view name, int attempt) const;
  absl::Status Ambiguous(absl::string_view name,
                         const std::vector<const Entry*>& matching) const;
  absl::Status Unknown(absl::string_view name) const;

  const PlanStudy& study_;
  std::vector<Entry> entries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_
