// A collective between processes, as a custom call.
//
// An all-reduce of devices 0, 1, 2, 3, of which this process has the first two,
// has the attributes
//
//   {job = 7 : i64, member = 0 : i64, tag = 3 : i64, kind = "all-reduce",
//    op = "add", dimension = 0 : i64, groups = "3:0@0,1@0,2@1,3@1", pairs = ""}
//
// and, after the arrays, one more operand, the device number u32[], which is
// also one more result: an instruction that uses that result comes after the
// call.
#ifndef MESHWRIGHT_CROSSING_CROSS_CALL_H_
#define MESHWRIGHT_CROSSING_CROSS_CALL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/wire/group.h"

namespace meshwright {

inline constexpr absl::string_view kCrossCallTarget = "meshwright_collective";
// The tag of calls that only pass on the device number.
inline constexpr int64_t kPassTag = -1;

enum class CrossKind : uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kPermute,
  kBroadcast,
};

inline bool Reduces(CrossKind kind) {
  return kind == CrossKind::kAllReduce || kind == CrossKind::kReduceScatter;
}

// A group of devices that exchange data; `tag` distinguishes it from all other
// groups in the job's calls.
struct CrossGroup {
  struct Member {
    int64_t device = 0;
    int process = 0;

    bool operator==(const Member&) const = default;
  };

  uint32_t tag = 0;
  std::vector<Member> members;

  bool operator==(const CrossGroup&) const = default;
};

struct CrossCall {
  CrossKind kind = CrossKind::kAllReduce;
  ReduceOp op = ReduceOp::kSum;  // Of all-reduce and reduce-scatter.
  // The dimension along which arrays are split or concatenated; -1: whole
  // arrays go to the members, as in all-to-alls of several operands.
  int64_t dimension = 0;
  // The groups with a device of this process. A device in none of them gets
  // zeros.
  std::vector<CrossGroup> groups;
  // Of permutes: source and target devices.
  std::vector<std::pair<int64_t, int64_t>> pairs;

  bool operator==(const CrossCall&) const = default;
};

// The attributes of the call as made by `member` (a process) of `job`. `tag`
// distinguishes it from other calls: that of its first group in any process.
std::string AttributesOf(const CrossCall& call, int64_t job, int member,
                         int64_t tag);

absl::string_view Name(CrossKind kind);
absl::string_view ReduceOpName(ReduceOp op);  // "add", "maximum", ...
absl::StatusOr<CrossKind> ParseCrossKind(absl::string_view name);
absl::StatusOr<ReduceOp> ParseReduceOp(absl::string_view name);

// "3:0@0,1@0;4:2@0,3@1": tag, then device@process.
std::string ToString(const std::vector<CrossGroup>& groups);
absl::StatusOr<std::vector<CrossGroup>> ParseCrossGroups(
    absl::string_view text);

// "0>2,1>3".
std::string ToString(const std::vector<std::pair<int64_t, int64_t>>& pairs);
absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> ParseCrossPairs(
    absl::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_CALL_H_
