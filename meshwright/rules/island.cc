#include "meshwright/rules/island.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// More would cost time and hardly differ.
constexpr size_t kMaxStrategies = 12;

std::string ListToString(const std::vector<Sharding>& list, const Mesh& mesh) {
  return absl::StrJoin(list, ", ",
                       [&](std::string* out, const Sharding& sharding) {
                         out->append(ToString(sharding, mesh));
                       });
}

bool UsesWholeAxes(const Sharding& sharding, const Mesh& mesh) {
  for (const DimSharding& dim : sharding.dims) {
    AxisList left = AxesOf(dim);
    while (!left.empty()) {
      const AxisList axis = mesh.SubAxes(mesh.sub_axes()[left.front()].axis);
      if (left.size() < axis.size() ||
          !std::equal(axis.begin(), axis.end(), left.begin())) {
        return false;
      }
      left = AxisList(left.begin() + axis.size(), left.end());
    }
  }
  return true;
}

// "[data,-], [-]": one sharding per shape, each even.
absl::StatusOr<std::vector<Sharding>> ParseList(
    absl::string_view text, const std::vector<const Shape*>& shapes,
    const Mesh& mesh) {
  std::vector<Sharding> list;
  for (const Shape* shape : shapes) {
    if (!list.empty()) absl::ConsumePrefix(&text, ",");
    text = absl::StripLeadingAsciiWhitespace(text);
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has shardings for ", list.size(), " of ", shapes.size(), " arrays"));
    }
    MW_ASSIGN_OR_RETURN(
        Sharding sharding,
        ParseSharding(text.substr(0, end + 1), shape->dimensions, mesh));
    MW_RETURN_IF_ERROR(CheckSharding(sharding, shape->dimensions, mesh,
                                     /*allow_uneven=*/false));
    if (!UsesWholeAxes(sharding, mesh)) {
      return absl::InvalidArgumentError(absl::StrCat(
          ToString(sharding, mesh), " is split over parts of axes"));
    }
    list.push_back(std::move(sharding));
    text.remove_prefix(end + 1);
  }
  if (!absl::StripAsciiWhitespace(text).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has more than ", shapes.size(), " shardings: ", text));
  }
  return list;
}

absl::Status CheckLocal(const Shape& shape, const Sharding& sharding,
                        const Mesh& mesh, absl::string_view what) {
  if (shape.IsArray() && shape.dimensions == LocalDimensions(sharding, mesh)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("its body has ", shape.ToString(), " for ", what,
                   ", which is split as ", ToString(sharding, mesh)));
}

absl::Status CheckBody(const Instruction& instruction, const Island& island) {
  if (instruction.called.size() != 1) {
    return absl::InvalidArgumentError("has no body");
  }
  const Computation& body = *instruction.called[0];
  const std::vector<Instruction*> parameters = body.Parameters();
  const std::vector<const Shape*> results = Leaves(body.root()->shape);
  if (parameters.size() != island.operands.size() ||
      results.size() != island.results.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its body takes ", parameters.size(), " arrays and gives ",
                     results.size(), "; it has ", island.operands.size(),
                     " operands and ", island.results.size(), " results"));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckLocal(parameters[i]->shape, island.operands[i],
                                  island.mesh, absl::StrCat("operand ", i)));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckLocal(*results[i], island.results[i], island.mesh,
                                  absl::StrCat("result ", i)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Island> Parse(const Instruction& instruction) {
  const std::string& text = instruction.attributes->backend_config;
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  const size_t arrow = text.find("->");
  if (parts.size() != 2 || arrow == std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no mesh and shardings"));
  }
  MW_ASSIGN_OR_RETURN(Mesh mesh, Mesh::Parse(parts[0]));
  std::vector<const Shape*> operands;
  for (const Instruction* operand : instruction.operands) {
    if (!operand->shape.IsArray()) {
      return absl::InvalidArgumentError("an operand is no array");
    }
    operands.push_back(&operand->shape);
  }
  const size_t begin = parts[0].size() + 1;
  Island island{.mesh = std::move(mesh)};
  MW_ASSIGN_OR_RETURN(island.operands, ParseList(absl::string_view(text).substr(
                                                     begin, arrow - begin),
                                                 operands, island.mesh));
  MW_ASSIGN_OR_RETURN(island.results,
                      ParseList(absl::string_view(text).substr(arrow + 2),
                                Leaves(instruction.shape), island.mesh));
  MW_RETURN_IF_ERROR(CheckBody(instruction, island));
  return island;
}

// Gives pieces of a mesh to the manual axes that have none yet.
class Matcher {
 public:
  Matcher(const Rule& rule, const Mesh& mesh, std::vector<AxisList> pieces)
      : rule_(rule), mesh_(mesh), pieces_(std::move(pieces)) {}

  std::vector<Strategy> Run(Strategy start) && {
    Place(0, start);
    return std::move(found_);
  }

 private:
  void Place(size_t piece, Strategy& strategy) {
    if (found_.size() == kMaxStrategies) return;
    if (piece == pieces_.size()) {
      if (IsValid(rule_, strategy, mesh_)) found_.push_back(strategy);
      return;
    }
    for (size_t i = 0; i < rule_.manual_axes.size(); ++i) {
      const AxisList before = strategy.factor_axes[i];
      strategy.factor_axes[i].Append(pieces_[piece]);
      if (rule_.manual_axes[i].size % mesh_.Size(strategy.factor_axes[i]) ==
          0) {
        Place(piece + 1, strategy);
      }
      strategy.factor_axes[i] = before;
    }
    Place(piece + 1, strategy);
  }

  const Rule& rule_;
  const Mesh& mesh_;
  const std::vector<AxisList> pieces_;
  std::vector<Strategy> found_;
};

// Whole axes, or all their parts; of those axes that are not `taken`.
std::vector<AxisList> Pieces(const Mesh& mesh, uint32_t taken, bool whole) {
  std::vector<AxisList> pieces;
  for (size_t i = 0; i < mesh.axes().size(); ++i) {
    const AxisList axes = mesh.SubAxes(static_cast<int32_t>(i));
    if (axes.empty() || (taken & axes.Bits()) != 0) continue;
    if (whole) {
      pieces.push_back(axes);
    } else {
      for (const AxisId axis : axes) pieces.push_back({axis});
    }
  }
  return pieces;
}

}  // namespace

bool IsIsland(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.attributes->custom_call_target == kIslandTarget;
}

bool IsCollectiveOfIslands(Opcode opcode) {
  return IsCollective(opcode) && !IsAsynchronous(opcode) &&
         opcode != Opcode::kCollectiveReduce;
}

std::string ToString(const Island& island) {
  return absl::StrCat(island.mesh.ToString(), ": ",
                      ListToString(island.operands, island.mesh), " -> ",
                      ListToString(island.results, island.mesh));
}

absl::StatusOr<Island> IslandOf(const Instruction& instruction) {
  absl::StatusOr<Island> island = Parse(instruction);
  if (!island.ok()) return Annotate(island.status(), "its island");
  return island;
}

std::vector<Strategy> ManualStrategies(const Rule& rule, const Mesh& mesh) {
  Strategy none;
  none.factor_axes.resize(rule.factors.size());
  Strategy named = none;
  uint32_t taken = 0;
  for (size_t i = 0; i < rule.manual_axes.size(); ++i) {
    const auto same = mesh.FindAxis(rule.manual_axes[i].name);
    if (!same.has_value() || mesh.axes()[*same] != rule.manual_axes[i]) {
      continue;
    }
    named.factor_axes[i] = mesh.SubAxes(*same);
    taken |= named.factor_axes[i].Bits();
  }
  for (const bool by_name : {true, false}) {
    for (const bool whole : {true, false}) {
      std::vector<Strategy> found =
          Matcher(rule, mesh, Pieces(mesh, by_name ? taken : 0, whole))
              .Run(by_name ? named : none);
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::optional<Rule> IslandFactors(const Instruction& instruction) {
  const absl::StatusOr<Island> island = IslandOf(instruction);
  if (!island.ok()) return std::nullopt;
  Rule rule;
  rule.manual_axes = island->mesh.axes();
  for (const MeshAxis& axis : rule.manual_axes) {
    rule.AddFactor(axis.size, FactorKind::kExchanged);
  }
  // The axes that split a dimension, and the rest of it.
  const auto add = [&](const std::vector<Sharding>& shardings,
                       std::vector<TensorFactors>& tensors) {
    for (const Sharding& sharding : shardings) {
      TensorFactors& tensor = tensors.emplace_back();
      for (const DimSharding& dim : sharding.dims) {
        DimFactors& factors = tensor.emplace_back();
        for (const AxisId id : AxesOf(dim)) {
          const int32_t axis = island->mesh.sub_axes()[id].axis;
          if (factors.empty() || factors.back() != axis) {
            factors.push_back(axis);
          }
        }
        factors.push_back(
            rule.AddFactor(LocalSize(dim, island->mesh), FactorKind::kWhole));
      }
    }
  };
  add(island->operands, rule.operands);
  add(island->results, rule.results);
  return rule;
}

}  // namespace meshwright
