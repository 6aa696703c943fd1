// The names under which a user knows the groups of a plan.
//
//   StudyNames names(*study);
//   names.Of(7);                   // "blocks/*/attn/qkv/dot_general x 12"
//   names.GroupCalled("blocks/3/attn/qkv");    // 7
//   names.GroupCalled("*qkv*");    // Error: names what it could be.
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
  // The study outlives it.
  explicit StudyNames(const PlanStudy& study);

  // Of all ops of a group, folded: what is alike is said once.
  std::string Of(int32_t group) const;

  // The group of an op, parameter or output: by its HLO name, by the name it is
  // shown with, by a part of that which no other group has, or by a pattern
  // with *. kInvalidArgument, with what is near or what it could be, for any
  // other.
  absl::StatusOr<int32_t> GroupCalled(absl::string_view name) const;

 private:
  struct Entry {
    std::string shown;
    std::string hlo;
    int32_t group = 0;
    int rank = 0;  // Of what people ask for first.
  };

  // By group: the first entry that is meant.
  using Matching = std::map<int32_t, const Entry*>;

  absl::Status Ambiguous(absl::string_view name,
                         const Matching& matching) const;

  const PlanStudy& study_;
  std::vector<Entry> entries_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPLAIN_EXPLAIN_NAMES_H_
