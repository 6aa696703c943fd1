#include "meshwright/partition/forbidden.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/rules/collectives.h"

namespace meshwright {
namespace {

constexpr MoveKind kKinds[] = {MoveKind::kAllReduce, MoveKind::kAllGather,
                               MoveKind::kReduceScatter, MoveKind::kAllToAll,
                               MoveKind::kPermute};

absl::StatusOr<MoveKind> ParseKind(absl::string_view name) {
  std::vector<absl::string_view> known;
  for (const MoveKind kind : kKinds) {
    if (Name(kind) == name) return kind;
    known.push_back(Name(kind));
  }
  return absl::InvalidArgumentError(absl::StrCat("no collective is called '",
                                                 name, "'; there are ",
                                                 absl::StrJoin(known, ", ")));
}

// The sub-axes of the named axis, or all.
AxisList AxesOf(const Forbidden& forbidden, const Mesh& mesh) {
  if (forbidden.axis.empty()) return mesh.AllSubAxes();
  return mesh.SubAxes(*mesh.FindAxis(forbidden.axis));
}

// Whether devices that differ along `axes` communicate.
bool Crosses(const Instruction& collective, const AxisList& axes,
             const Mesh& mesh) {
  const auto differ = [&](int64_t a, int64_t b) {
    return mesh.Coordinate(a, axes) != mesh.Coordinate(b, axes);
  };
  const Attributes& attributes = *collective.attributes;
  if (!attributes.source_target_pairs.empty()) {
    return std::any_of(attributes.source_target_pairs.begin(),
                       attributes.source_target_pairs.end(),
                       [&](const SourceTarget& pair) {
                         return differ(pair.source, pair.target);
                       });
  }
  if (attributes.replica_groups.empty()) return mesh.Size(axes) > 1;
  return std::any_of(
      attributes.replica_groups.begin(), attributes.replica_groups.end(),
      [&](const std::vector<int64_t>& group) {
        return std::any_of(group.begin(), group.end(), [&](int64_t device) {
          return differ(device, group[0]);
        });
      });
}

}  // namespace

absl::StatusOr<std::vector<Forbidden>> ParseForbidden(absl::string_view text) {
  std::vector<Forbidden> list;
  for (const absl::string_view word : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(word, '@');
    absl::StatusOr<MoveKind> kind =
        ParseKind(absl::StripAsciiWhitespace(parts[0]));
    if (!kind.ok()) return kind.status();
    const bool has_axis = parts.size() > 1;
    if (parts.size() > 2 || (has_axis && parts[1].empty())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", word, "' names no axis; write ", Name(*kind), "@data"));
    }
    list.push_back({*kind, has_axis ? std::string(parts[1]) : std::string()});
  }
  return list;
}

std::string ToString(const Forbidden& forbidden) {
  return forbidden.axis.empty()
             ? std::string(Name(forbidden.kind))
             : absl::StrCat(Name(forbidden.kind), "@", forbidden.axis);
}

std::string ToString(const std::vector<Forbidden>& list) {
  return absl::StrJoin(list, ", ",
                       [](std::string* out, const Forbidden& forbidden) {
                         absl::StrAppend(out, ToString(forbidden));
                       });
}

absl::Status CheckAxes(const std::vector<Forbidden>& list, const Mesh& mesh) {
  for (const Forbidden& forbidden : list) {
    if (forbidden.axis.empty() || mesh.FindAxis(forbidden.axis).has_value()) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(forbidden), " is forbidden, but the mesh ",
                     mesh.ToString(), " has no axis ", forbidden.axis));
  }
  return absl::OkStatus();
}

Prices Without(Prices prices, const std::vector<Forbidden>& list,
               const Mesh& mesh) {
  if (list.empty()) return prices;
  std::vector<Prices::ByKind> table = std::move(prices.by_axes);
  if (table.empty()) {
    Prices::ByKind all;
    all.fill(prices.collective);
    table.assign(size_t{1} << mesh.sub_axes().size(), all);
  }
  for (const Forbidden& forbidden : list) {
    const uint32_t axes = AxesOf(forbidden, mesh).Bits();
    for (uint32_t bits = 0; bits < table.size(); ++bits) {
      // Bytes still have a price, so that less of what is unavoidable is
      // better.
      if ((bits & axes) != 0) {
        table[bits][KindIndex(forbidden.kind)].latency = kForbiddenSeconds;
      }
    }
  }
  prices.SetByAxes(std::move(table));
  return prices;
}

absl::Status CheckNone(const Partitioned& split,
                       const std::vector<Forbidden>& list) {
  if (list.empty()) return absl::OkStatus();
  for (const CollectiveUse& use :
       CollectivesIn(split.module, split.mesh.device_count())) {
    for (const Forbidden& forbidden : list) {
      if (Name(forbidden.kind) != use.kind ||
          !Crosses(*use.instruction, AxesOf(forbidden, split.mesh),
                   split.mesh)) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          ToString(forbidden), " is forbidden, but splitting the step needs ",
          use.instruction->name));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
