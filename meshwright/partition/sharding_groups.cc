#include "meshwright/partition/sharding_groups.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

const std::string& NameOf(const FlatGraph& graph, ValueId value) {
  return graph.producer(value).instruction->name;
}

// The sharding given for a value, if it leaves nothing open.
std::optional<Sharding> GivenFor(const FlatGraph& graph, ValueId value,
                                 const Annotations& given) {
  const FlatOp& op = graph.producer(value);
  const Annotation* annotation = nullptr;
  if (op.kind == OpKind::kParameter) {
    const size_t index =
        std::find(graph.parameters.begin(), graph.parameters.end(),
                  graph.values[value].producer) -
        graph.parameters.begin();
    if (index < given.parameters.size() &&
        given.parameters[index].has_value()) {
      annotation = &*given.parameters[index];
    }
  } else if (op.kind == OpKind::kCompute && graph.values[value].result == 0) {
    const auto found = given.instructions.find(op.instruction);
    if (found != given.instructions.end()) annotation = &found->second;
  }
  if (annotation == nullptr) return std::nullopt;
  const bool is_open =
      std::find(annotation->free.begin(), annotation->free.end(), true) !=
      annotation->free.end();
  if (is_open && op.kind != OpKind::kParameter) return std::nullopt;
  return annotation->sharding;
}

// Maps each marked value to its group; groups that share a value are merged
// into the first.
std::map<ValueId, size_t> GroupsByValue(const FlatGraph& graph,
                                        const Annotations& given) {
  absl::flat_hash_map<const Instruction*, size_t> group_of;
  for (size_t i = 0; i < given.sharding_groups.size(); ++i) {
    for (const Instruction* mark : given.sharding_groups[i])
      group_of.emplace(mark, i);
  }
  std::vector<size_t> joined(given.sharding_groups.size());
  for (size_t i = 0; i < joined.size(); ++i) joined[i] = i;
  const auto root = [&](size_t group) {
    while (joined[group] != group) group = joined[group];
    return group;
  };
  std::map<ValueId, size_t> groups;
  for (const FlatOp& op : graph.ops) {
    if (op.kind != OpKind::kCompute) continue;
    const auto found = group_of.find(op.instruction);
    if (found == group_of.end()) continue;
    const auto [entry, is_new] =
        groups.try_emplace(op.operands[0], found->second);
    if (!is_new) joined[root(found->second)] = root(entry->second);
  }
  for (auto& [value, group] : groups) group = root(group);
  return groups;
}

absl::Status AddTo(ShardingGroup& group, ValueId value, const FlatGraph& graph,
                   const Annotations& given) {
  const auto refuse = [&](ValueId other, const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(graph, other), " and ", NameOf(graph, value),
                     " are to be split alike, but ", why));
  };
  if (!group.values.empty() &&
      graph.values[group.values[0]].shape->dimensions !=
          graph.values[value].shape->dimensions) {
    return refuse(group.values[0], "have different shapes");
  }
  const std::optional<Sharding> own = GivenFor(graph, value, given);
  if (own.has_value()) {
    for (const ValueId other : group.values) {
      const std::optional<Sharding> others = GivenFor(graph, other, given);
      if (others.has_value() && *others != *own) {
        return refuse(other, "are given different shardings");
      }
    }
    group.given = own;
  }
  group.values.push_back(value);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ShardingGroup>> ShardingGroups(
    const FlatGraph& graph, const Annotations& given) {
  if (given.sharding_groups.empty()) return std::vector<ShardingGroup>();
  std::map<size_t, ShardingGroup> groups;
  for (const auto& [value, group] : GroupsByValue(graph, given)) {
    if (!graph.producer(value).live) continue;
    MW_RETURN_IF_ERROR(AddTo(groups[group], value, graph, given));
  }
  std::vector<ShardingGroup> result;
  for (auto& [id, group] : groups) {
    if (group.values.size() > 1) result.push_back(std::move(group));
  }
  return result;
}

absl::Status PinParametersOfGroups(const FlatGraph& graph, Annotations& given) {
  MW_ASSIGN_OR_RETURN(const std::vector<ShardingGroup> groups,
                      ShardingGroups(graph, given));
  absl::flat_hash_map<OpId, size_t> parameters;
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    parameters.emplace(graph.parameters[i], i);
  }
  given.parameters.resize(graph.parameters.size());
  for (const ShardingGroup& group : groups) {
    for (const ValueId value : group.values) {
      const auto found = parameters.find(graph.values[value].producer);
      if (found == parameters.end() || !group.given.has_value()) continue;
      std::optional<Annotation>& pin = given.parameters[found->second];
      if (!pin.has_value()) pin = *group.given;
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
