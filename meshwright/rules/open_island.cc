#include "meshwright/rules/open_island.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

bool IsRegionCall(const Instruction& instruction, absl::string_view target) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attributes->custom_call_target == target;
}

// Every operand and result leaf with these dimensions, none padded.
Rule EvenPointwiseRule(const Instruction& instruction) {
  const auto count = static_cast<int32_t>(instruction.operands.size());
  Rule rule =
      PointwiseRule(instruction.operand_shape(0).dimensions, count, count);
  for (Factor& factor : rule.factors) factor.may_pad = false;
  return rule;
}

// One dimension, before and after, is whole.
void KeepWhole(const Instruction& instruction, int64_t dimension, Rule& rule) {
  const auto whole = [&](const Shape& shape) {
    return rule.AddFactor(shape.dimensions[dimension], FactorKind::kWhole);
  };
  rule.operands[0][dimension] = {whole(instruction.operand_shape(0))};
  rule.results[0][dimension] = {whole(instruction.shape)};
}

}  // namespace

bool EntersOpenIsland(const Instruction& instruction) {
  return IsRegionCall(instruction, kRegionEnter);
}

bool LeavesOpenIsland(const Instruction& instruction) {
  return IsRegionCall(instruction, kRegionLeave);
}

bool IsDeviceOfOpenIsland(const Instruction& instruction) {
  return IsRegionCall(instruction, kRegionDevice);
}

std::string ToString(const RegionEdge& edge) {
  return absl::StrCat(edge.region, " ", edge.mesh.ToString(), ": ",
                      ToString(edge.sharding, edge.mesh));
}

absl::StatusOr<RegionEdge> RegionEdgeOf(const Instruction& instruction) {
  const bool enters = EntersOpenIsland(instruction);
  const Shape& whole =
      enters ? instruction.operand_shape(0) : instruction.shape;
  const std::string& text = instruction.attributes->backend_config;
  const std::vector<std::string> number =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  int64_t region = 0;
  if (instruction.operands.size() != 1 || !whole.IsArray() ||
      number.size() != 2 || !absl::SimpleAtoi(number[0], &region)) {
    return Bad("'", text, "' is no edge of a region");
  }
  const std::vector<std::string> parts =
      absl::StrSplit(number[1], absl::MaxSplits(": ", 1));
  if (parts.size() != 2) return Bad("'", text, "' is no edge of a region");
  MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Parse(parts[0]));
  MW_ASSIGN_OR_RETURN(Sharding sharding,
                      ParseSharding(parts[1], whole.dimensions, mesh));
  return RegionEdge{region, std::move(mesh), std::move(sharding)};
}

std::optional<Rule> RegionEdgeFactors(const Instruction& instruction,
                                      bool apart) {
  if (!RegionEdgeOf(instruction).ok()) return std::nullopt;
  const std::vector<int64_t>& before = instruction.operand_shape(0).dimensions;
  const std::vector<int64_t>& after = instruction.shape.dimensions;
  Rule rule;
  rule.operands.emplace_back();
  rule.results.emplace_back();
  for (size_t i = 0; i < before.size(); ++i) {
    const int64_t local = std::min(before[i], after[i]);
    const int64_t whole = std::max(before[i], after[i]);
    DimFactors of_local = {rule.AddFactor(apart ? local : whole)};
    DimFactors of_whole = of_local;
    if (local != whole && apart) {
      of_whole.insert(of_whole.begin(),
                      rule.AddFactor(whole / local, FactorKind::kWhole));
    } else if (local != whole) {
      of_local = {rule.AddFactor(local)};
      rule.factors[of_local[0]].tied = of_whole[0];
    }
    const bool enters = EntersOpenIsland(instruction);
    rule.operands[0].push_back(enters ? of_whole : of_local);
    rule.results[0].push_back(enters ? of_local : of_whole);
  }
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

std::optional<Rule> RegionCollectiveFactors(const Instruction& instruction) {
  const Attributes& attributes = *instruction.attributes;
  const bool is_tuple =
      instruction.opcode == Opcode::kAllToAll && attributes.dimensions.empty();
  if (instruction.operands.empty() ||
      (instruction.operands.size() > 1 && !is_tuple) ||
      !instruction.operand_shape(0).IsArray() ||
      !attributes.dynamic_slice_sizes.empty()) {
    return std::nullopt;
  }
  Rule rule = EvenPointwiseRule(instruction);
  std::vector<int32_t> all(instruction.operands.size());
  std::iota(all.begin(), all.end(), 0);
  Linear linear{std::nullopt, std::move(all)};
  switch (instruction.opcode) {
    case Opcode::kAllReduce:
    case Opcode::kReduceScatter:
      linear.reduction = ReductionOf(*instruction.called[0]);
      if (linear.reduction.has_value()) rule.linear = {linear};
      break;
    case Opcode::kAllGather:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
      rule.linear = {linear};
      break;
    default:
      return std::nullopt;
  }
  if (!attributes.dimensions.empty()) {
    KeepWhole(instruction, attributes.dimensions[0], rule);
  }
  return rule;
}

}  // namespace meshwright
