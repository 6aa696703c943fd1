#include "meshwright/mesh/sharding_text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/text_cursor.h"

namespace meshwright {
namespace {

struct NamedReduction {
  absl::string_view name;
  Reduction reduction;
};

constexpr std::array<NamedReduction, 6> kReductions = {{
    {"+", Reduction::kSum},
    {"*", Reduction::kProduct},
    {"max", Reduction::kMax},
    {"min", Reduction::kMin},
    {"and", Reduction::kAnd},
    {"or", Reduction::kOr},
}};

absl::string_view Name(Reduction reduction) {
  for (const NamedReduction& named : kReductions) {
    if (named.reduction == reduction) return named.name;
  }
  return "+";
}

std::string DimToString(const DimSharding& dim, const Mesh& mesh) {
  if (!IsStrided(dim)) return AxesToString(dim[0].axes, mesh);
  return absl::StrJoin(dim, " ", [&](std::string* out, const Part& part) {
    absl::StrAppend(out, part.size, ":", AxesToString(part.axes, mesh));
  });
}

absl::Status UsedTwice(const AxisList& axes, const Mesh& mesh) {
  return Bad("mesh axis ", AxesToString(axes, mesh), " is used twice");
}

absl::Status UnknownAxis(absl::string_view name, const Mesh& mesh) {
  return Bad("no mesh axis '", name, "'; the mesh is ", mesh.ToString());
}

absl::Status CheckDivides(const DimSharding& dim, size_t index,
                          const Mesh& mesh, bool allow_uneven) {
  for (const Part& part : dim) {
    const int64_t shards = mesh.Size(part.axes);
    if (part.size % shards == 0) continue;
    if (allow_uneven && !IsStrided(dim)) continue;
    const std::string what =
        IsStrided(dim)
            ? absl::StrCat("the part of size ", part.size, " of dimension ",
                           index)
            : absl::StrCat("dimension ", index, " of size ", part.size);
    return Bad(what, " does not divide over ", AxesToString(part.axes, mesh),
               "=", shards);
  }
  return absl::OkStatus();
}

// Checks that every axis exists and that none is used twice.
absl::Status CheckAxes(const Sharding& sharding, const Mesh& mesh) {
  uint32_t seen = 0;
  const auto check = [&](const AxisList& axes) -> absl::Status {
    for (const AxisId axis : axes) {
      if (axis < 0 || static_cast<size_t>(axis) >= mesh.sub_axes().size()) {
        return Bad("sub-axis ", axis, " is not of the mesh ", mesh.ToString());
      }
      if ((seen >> axis & 1) != 0) {
        return UsedTwice({axis}, mesh);
      }
      seen |= uint32_t{1} << axis;
    }
    return absl::OkStatus();
  };
  for (const DimSharding& dim : sharding.dims) {
    for (const Part& part : dim) MW_RETURN_IF_ERROR(check(part.axes));
  }
  return check(sharding.pending);
}

// Parses the text from left to right.
class Parser {
 public:
  Parser(absl::string_view text, const Mesh& mesh)
      : cursor_(text), mesh_(mesh) {}

  absl::StatusOr<Sharding> Parse(absl::Span<const int64_t> dimensions) {
    MW_RETURN_IF_ERROR(cursor_.Expect("["));
    std::vector<DimSharding> dims;
    for (bool more = !cursor_.Take("]"); more; more = !cursor_.Take("]")) {
      if (!dims.empty()) MW_RETURN_IF_ERROR(cursor_.Expect(","));
      MW_ASSIGN_OR_RETURN(dims.emplace_back(), ParseDim());
    }
    if (dims.size() != dimensions.size()) {
      return Bad("the sharding has ", dims.size(),
                 " dimensions, the tensor has ", dimensions.size());
    }
    Sharding result;
    result.dims = std::move(dims);
    MW_RETURN_IF_ERROR(ParsePending(result));
    // Before the lists of parts are normalised, which requires that axes are
    // used once and divide the sizes.
    MW_RETURN_IF_ERROR(CheckAxes(result, mesh_));
    for (size_t i = 0; i < dimensions.size(); ++i) {
      DimSharding& dim = result.dims[i];
      if (dim[0].size == kWhole) dim[0].size = dimensions[i];
      MW_RETURN_IF_ERROR(CheckParts(dim, dimensions[i], i));
      MW_RETURN_IF_ERROR(CheckDivides(dim, i, mesh_, /*allow_uneven=*/true));
      dim = Normalised(dim, mesh_);
    }
    return result;
  }

  absl::StatusOr<AxisList> ParsePiece() {
    MW_ASSIGN_OR_RETURN(const absl::string_view name,
                        cursor_.Name("a mesh axis"));
    if (!cursor_.Take(":(")) {
      const std::optional<int32_t> axis = mesh_.FindAxis(name);
      if (!axis.has_value()) return UnknownAxis(name, mesh_);
      return mesh_.SubAxes(*axis);
    }
    MW_ASSIGN_OR_RETURN(const int64_t before, cursor_.Number());
    MW_RETURN_IF_ERROR(cursor_.Expect(")"));
    MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Number());
    return FindSubAxes(mesh_, name, before, size);
  }

  absl::Status ExpectEnd() { return cursor_.ExpectEnd(); }

 private:
  static constexpr int64_t kWhole = -1;  // The whole dimension.

  // One part of size kWhole, or parts with sizes.
  absl::StatusOr<DimSharding> ParseDim() {
    if (!cursor_.NextIsDigit()) {
      MW_ASSIGN_OR_RETURN(const AxisList axes, ParseAxisList());
      return DimSharding{{kWhole, axes}};
    }
    DimSharding parts;
    while (cursor_.NextIsDigit()) {
      MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Number());
      MW_RETURN_IF_ERROR(cursor_.Expect(":"));
      MW_ASSIGN_OR_RETURN(const AxisList axes, ParseAxisList());
      parts.push_back({size, axes});
    }
    return parts;
  }

  absl::StatusOr<AxisList> ParseAxisList() {
    if (cursor_.Take("-")) return AxisList();
    if (!cursor_.Take("(")) return ParsePiece();
    return ParsePiecesUntil(")");
  }

  absl::StatusOr<AxisList> ParsePiecesUntil(absl::string_view end) {
    AxisList axes;
    do {
      MW_ASSIGN_OR_RETURN(const AxisList piece, ParsePiece());
      if (!Disjoint(piece, axes)) return UsedTwice(piece, mesh_);
      axes.Append(piece);
    } while (cursor_.Take(","));
    MW_RETURN_IF_ERROR(cursor_.Expect(end));
    return axes;
  }

  absl::Status ParsePending(Sharding& sharding) {
    if (cursor_.AtEnd()) return absl::OkStatus();
    for (const NamedReduction& named : kReductions) {
      if (!cursor_.Take(named.name)) continue;
      MW_RETURN_IF_ERROR(cursor_.Expect("{"));
      MW_ASSIGN_OR_RETURN(sharding.pending, ParsePiecesUntil("}"));
      std::sort(sharding.pending.begin(), sharding.pending.end());
      if (!sharding.pending.empty()) sharding.reduction = named.reduction;
      return ExpectEnd();
    }
    return Bad("expected +{...}, *{...}, max{...}, min{...}, and{...} or ",
               "or{...} ", cursor_.Where());
  }

  static absl::Status CheckParts(const DimSharding& parts, int64_t size,
                                 size_t dim) {
    int64_t product = 1;
    for (const Part& part : parts) {
      if (__builtin_mul_overflow(product, part.size, &product)) product = -1;
      if (product < 0) break;
    }
    if (product == size) return absl::OkStatus();
    return Bad("the parts of dimension ", dim, " are ",
               absl::StrJoin(parts, " x ",
                             [](std::string* out, const Part& part) {
                               absl::StrAppend(out, part.size);
                             }),
               "; its size is ", size);
  }

  TextCursor cursor_;
  const Mesh& mesh_;
};

}  // namespace

std::string ToString(const Sharding& sharding, const Mesh& mesh) {
  std::string text =
      absl::StrCat("[",
                   absl::StrJoin(sharding.dims, ", ",
                                 [&](std::string* out, const DimSharding& dim) {
                                   out->append(DimToString(dim, mesh));
                                 }),
                   "]");
  if (!sharding.IsPending()) return text;
  // A set of axes needs no parentheses.
  std::string axes = AxesToString(sharding.pending, mesh);
  absl::string_view inner = axes;
  if (absl::ConsumePrefix(&inner, "(")) absl::ConsumeSuffix(&inner, ")");
  absl::StrAppend(&text, " ", Name(sharding.reduction), "{", inner, "}");
  return text;
}

absl::StatusOr<Sharding> ParseSharding(absl::string_view text,
                                       absl::Span<const int64_t> dimensions,
                                       const Mesh& mesh) {
  absl::StatusOr<Sharding> sharding = Parser(text, mesh).Parse(dimensions);
  absl::Status status = sharding.status();
  if (status.ok()) {
    status = CheckSharding(*sharding, dimensions, mesh, /*allow_uneven=*/true);
  }
  if (!status.ok()) return Annotate(status, absl::StrCat("'", text, "'"));
  return sharding;
}

absl::StatusOr<AxisList> ParseAxes(absl::string_view piece, const Mesh& mesh) {
  Parser parser(piece, mesh);
  MW_ASSIGN_OR_RETURN(const AxisList axes, parser.ParsePiece());
  MW_RETURN_IF_ERROR(parser.ExpectEnd());
  return axes;
}

absl::StatusOr<AxisList> FindSubAxes(const Mesh& mesh, absl::string_view name,
                                     int64_t before, int64_t size) {
  const std::optional<int32_t> axis = mesh.FindAxis(name);
  if (!axis.has_value()) return UnknownAxis(name, mesh);
  AxisList result;
  int64_t found = 1;
  for (const AxisId id : mesh.SubAxes(*axis)) {
    const SubAxis& sub_axis = mesh.sub_axes()[id];
    const bool begins = result.empty() && sub_axis.before == before;
    if (found < size && (begins || !result.empty())) {
      result.push_back(id);
      found *= sub_axis.size;
    }
  }
  if (size < 1 || found != size) {
    return Bad("mesh axis ", name, "=", mesh.axes()[*axis].size,
               " has no part ", name, ":(", before, ")", size,
               "; it divides into ",
               absl::StrJoin(mesh.SubAxes(*axis), " x ",
                             [&](std::string* out, AxisId id) {
                               absl::StrAppend(out, mesh.Size(id));
                             }));
  }
  return result;
}

absl::Status CheckSharding(const Sharding& sharding,
                           absl::Span<const int64_t> dimensions,
                           const Mesh& mesh, bool allow_uneven) {
  if (sharding.dims.size() != dimensions.size()) {
    return Bad("the sharding has ", sharding.dims.size(),
               " dimensions, the tensor has ", dimensions.size());
  }
  MW_RETURN_IF_ERROR(CheckAxes(sharding, mesh));
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const DimSharding& dim = sharding.dims[i];
    if (dim.empty() || GlobalSize(dim) != dimensions[i]) {
      return Bad("dimension ", i, " has size ", dimensions[i],
                 "; the sharding is for ", dim.empty() ? 0 : GlobalSize(dim));
    }
    MW_RETURN_IF_ERROR(CheckDivides(dim, i, mesh, allow_uneven));
    if (Normalised(dim, mesh) != dim) {
      return Bad("dimension ", i, " is split in more parts than it needs");
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
