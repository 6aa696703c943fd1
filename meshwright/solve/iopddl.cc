#include "meshwright/solve/iopddl.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/solve/json_cursor.h"

namespace meshwright {
namespace {

// Concatenated lists of numbers: list i ends at `ends[i]`.
struct Lists {
  std::vector<int64_t> values;
  std::vector<size_t> ends;

  size_t size() const { return ends.size(); }
  absl::Span<const int64_t> operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return absl::MakeConstSpan(values).subspan(begin, ends[i] - begin);
  }
};

struct Members {
  std::string name;
  std::optional<Lists> intervals, costs, usages, edge_nodes, edge_costs;
  std::optional<int64_t> usage_limit;
};

absl::Status ReadLists(JsonCursor& json, std::optional<Lists>* out) {
  Lists& lists = out->emplace();
  return json.Array([&]() -> absl::Status {
    MW_RETURN_IF_ERROR(json.Array([&]() -> absl::Status {
      MW_ASSIGN_OR_RETURN(const int64_t value, json.Integer());
      lists.values.push_back(value);
      return absl::OkStatus();
    }));
    lists.ends.push_back(lists.values.size());
    return absl::OkStatus();
  });
}

absl::Status ReadNodes(JsonCursor& json, Members* members) {
  return json.Object([&](absl::string_view key) {
    if (key == "intervals") return ReadLists(json, &members->intervals);
    if (key == "costs") return ReadLists(json, &members->costs);
    if (key == "usages") return ReadLists(json, &members->usages);
    return json.Skip();
  });
}

absl::Status ReadEdges(JsonCursor& json, Members* members) {
  return json.Object([&](absl::string_view key) {
    if (key == "nodes") return ReadLists(json, &members->edge_nodes);
    if (key == "costs") return ReadLists(json, &members->edge_costs);
    return json.Skip();
  });
}

absl::Status ReadProblem(JsonCursor& json, Members* members) {
  return json.Object([&](absl::string_view key) -> absl::Status {
    if (key == "nodes") return ReadNodes(json, members);
    if (key == "edges") return ReadEdges(json, members);
    if (key == "name") {
      MW_ASSIGN_OR_RETURN(const absl::string_view name, json.String());
      members->name = std::string(name);
      return absl::OkStatus();
    }
    if (key == "usage_limit" && !json.TakeNull()) {
      MW_ASSIGN_OR_RETURN(members->usage_limit, json.Integer());
      return absl::OkStatus();
    }
    return key == "usage_limit" ? absl::OkStatus() : json.Skip();
  });
}

absl::StatusOr<Members> ReadMembers(absl::string_view text) {
  JsonCursor json(text);
  Members members;
  bool found = false;
  MW_RETURN_IF_ERROR(json.Object([&](absl::string_view key) {
    if (key != "problem") return json.Skip();
    found = true;
    return ReadProblem(json, &members);
  }));
  MW_RETURN_IF_ERROR(json.End());
  if (!found) {
    return absl::InvalidArgumentError("has no member \"problem\"");
  }
  const std::pair<bool, absl::string_view> needed[] = {
      {members.intervals.has_value(), "nodes.intervals"},
      {members.costs.has_value(), "nodes.costs"},
      {members.usages.has_value(), "nodes.usages"},
      {members.edge_nodes.has_value(), "edges.nodes"},
      {members.edge_costs.has_value(), "edges.costs"}};
  for (const auto& [is_there, name] : needed) {
    if (is_there) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("problem has no member \"", name, "\""));
  }
  return members;
}

absl::Status AddNodes(const Members& members, Problem* problem) {
  const size_t count = members.costs->size();
  if (members.intervals->size() != count || members.usages->size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nodes: ", members.intervals->size(), " intervals, ", count,
        " lists of costs and ", members.usages->size(), " lists of usages"));
  }
  problem->nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const absl::Span<const int64_t> interval = (*members.intervals)[i];
    if (interval.size() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node ", i, ": an interval of ", interval.size(), " times, not 2"));
    }
    const absl::Span<const int64_t> costs = (*members.costs)[i];
    const absl::Span<const int64_t> usages = (*members.usages)[i];
    problem->nodes[i].costs.assign(costs.begin(), costs.end());
    problem->nodes[i].pieces.push_back(
        {.first = interval[0],
         .last = interval[1],
         .usage = {usages.begin(), usages.end()}});
  }
  return absl::OkStatus();
}

absl::Status AddEdges(const Members& members, Problem* problem) {
  const size_t count = members.edge_nodes->size();
  if (members.edge_costs->size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("edges: ", count, " pairs of nodes and ",
                     members.edge_costs->size(), " lists of costs"));
  }
  // By the hash of columns and cells; tables with equal hashes are compared.
  absl::flat_hash_map<std::pair<int64_t, absl::Span<const int64_t>>, int32_t>
      tables;
  for (size_t i = 0; i < count; ++i) {
    const absl::Span<const int64_t> ends = (*members.edge_nodes)[i];
    const int64_t nodes = std::ssize(problem->nodes);
    if (ends.size() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("edge ", i, " joins ", ends.size(), " nodes, not 2"));
    }
    for (const int64_t end : ends) {
      if (end >= 0 && end < nodes) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "edge ", i, " names node ", end, "; there are ", nodes, " nodes"));
    }
    const absl::Span<const int64_t> cells = (*members.edge_costs)[i];
    const int64_t rows = std::ssize(problem->nodes[ends[0]].costs);
    const int64_t columns = std::ssize(problem->nodes[ends[1]].costs);
    if (std::ssize(cells) != rows * columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("edge ", i, " joins nodes of ", rows, " and ", columns,
                       " options with ", cells.size(), " costs"));
    }
    const auto [entry, is_new] = tables.try_emplace({columns, cells}, 0);
    if (is_new) {
      entry->second = problem->AddTable({static_cast<int32_t>(rows),
                                         static_cast<int32_t>(columns),
                                         {cells.begin(), cells.end()}});
    }
    problem->edges.push_back({static_cast<int32_t>(ends[0]),
                              static_cast<int32_t>(ends[1]), entry->second});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Problem> ReadIopddl(absl::string_view text) {
  MW_ASSIGN_OR_RETURN(const Members members, ReadMembers(text));
  Problem problem;
  problem.name = members.name;
  MW_RETURN_IF_ERROR(AddNodes(members, &problem));
  MW_RETURN_IF_ERROR(AddEdges(members, &problem));
  if (members.usage_limit.has_value()) {
    problem.limits.push_back({.limit = *members.usage_limit});
  }
  MW_RETURN_IF_ERROR(Verify(problem));
  return problem;
}

}  // namespace meshwright
