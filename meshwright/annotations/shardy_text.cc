#include "meshwright/annotations/shardy_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/text_cursor.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

// Older versions of jax escape quotes as \".
std::string Unescaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\\"", "\""}});
}

class Parser {
 public:
  // The text must outlive the parser.
  Parser(absl::string_view text, const ShardyMeshes& meshes)
      : cursor_(text), meshes_(meshes) {}

  absl::StatusOr<ShardyMeshes> ParseMeshes() {
    ShardyMeshes result;
    MW_RETURN_IF_ERROR(cursor_.Expect("{"));
    while (!cursor_.Take("}")) {
      MW_ASSIGN_OR_RETURN(const absl::string_view name,
                          cursor_.NextIs("\"") ? cursor_.Quoted()
                                               : cursor_.Name("a mesh name"));
      MW_RETURN_IF_ERROR(cursor_.Expect("="));
      MW_RETURN_IF_ERROR(cursor_.Expect("#sdy.mesh"));
      MW_ASSIGN_OR_RETURN(std::optional<Mesh> mesh, ParseMesh());
      if (mesh.has_value()) {
        result.emplace(std::string(name), *std::move(mesh));
      }
      if (!cursor_.NextIs("}")) MW_RETURN_IF_ERROR(cursor_.Expect(","));
    }
    MW_RETURN_IF_ERROR(cursor_.ExpectEnd());
    return result;
  }

  absl::StatusOr<std::vector<ShardySharding>> ParseShardings(
      absl::Span<const Shape* const> shapes) {
    std::vector<ShardySharding> result;
    const bool per_value = cursor_.Take("#sdy.sharding_per_value<[");
    if (!per_value) MW_RETURN_IF_ERROR(cursor_.Expect("#sdy.sharding"));
    while (result.size() < shapes.size()) {
      if (!result.empty()) MW_RETURN_IF_ERROR(cursor_.Expect(","));
      const Shape& shape = *shapes[result.size()];
      absl::StatusOr<ShardySharding> next = ParseSharding(shape.dimensions);
      MW_RETURN_IF_ERROR(next.status());
      result.push_back(*std::move(next));
    }
    if (per_value) {
      MW_RETURN_IF_ERROR(cursor_.Expect("]"));
      MW_RETURN_IF_ERROR(cursor_.Expect(">"));
    }
    MW_RETURN_IF_ERROR(cursor_.ExpectEnd());
    return result;
  }

 private:
  // <["data"=4, "model"=2], device_ids=[...]>; nullopt for a single device.
  absl::StatusOr<std::optional<Mesh>> ParseMesh() {
    MW_RETURN_IF_ERROR(cursor_.Expect("<"));
    MW_RETURN_IF_ERROR(cursor_.Expect("["));
    std::vector<MeshAxis> axes;
    while (!cursor_.Take("]")) {
      if (!axes.empty()) MW_RETURN_IF_ERROR(cursor_.Expect(","));
      MW_ASSIGN_OR_RETURN(const absl::string_view name, cursor_.Quoted());
      MW_RETURN_IF_ERROR(cursor_.Expect("="));
      MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Number());
      axes.push_back({AxisIdentifier(name), size});
    }
    std::vector<int64_t> ids;
    if (cursor_.Take(",")) {
      MW_RETURN_IF_ERROR(cursor_.Expect("device_ids"));
      MW_RETURN_IF_ERROR(cursor_.Expect("="));
      MW_RETURN_IF_ERROR(cursor_.Expect("["));
      while (!cursor_.Take("]")) {
        if (!ids.empty()) MW_RETURN_IF_ERROR(cursor_.Expect(","));
        MW_ASSIGN_OR_RETURN(ids.emplace_back(), cursor_.Number());
      }
    }
    MW_RETURN_IF_ERROR(cursor_.Expect(">"));
    if (axes.empty() && !ids.empty()) return std::optional<Mesh>();
    MW_ASSIGN_OR_RETURN(Mesh mesh,
                        Mesh::Create(std::move(axes), std::move(ids)));
    return std::optional<Mesh>(std::move(mesh));
  }

  absl::StatusOr<Mesh> ParseMeshOfSharding() {
    if (cursor_.Take("mesh")) {  // An inline mesh.
      MW_ASSIGN_OR_RETURN(std::optional<Mesh> mesh, ParseMesh());
      if (mesh.has_value()) return *std::move(mesh);
      return absl::InvalidArgumentError("is on one device, not on a mesh");
    }
    MW_RETURN_IF_ERROR(cursor_.Expect("@"));
    MW_ASSIGN_OR_RETURN(
        const absl::string_view name,
        cursor_.NextIs("\"") ? cursor_.Quoted() : cursor_.Name("a mesh name"));
    const auto found = meshes_.find(std::string(name));
    if (found != meshes_.end()) return found->second;
    return absl::InvalidArgumentError(
        absl::StrCat("the module has no mesh @", name));
  }

  // <@mesh, [dims], replicated={...}, unreduced={...}>
  absl::StatusOr<ShardySharding> ParseSharding(
      absl::Span<const int64_t> dimensions) {
    MW_RETURN_IF_ERROR(cursor_.Expect("<"));
    MW_ASSIGN_OR_RETURN(Mesh mesh, ParseMeshOfSharding());
    ShardySharding result{std::move(mesh), Sharding::Replicated(dimensions),
                          std::vector<bool>(dimensions.size(), false)};
    MW_RETURN_IF_ERROR(cursor_.Expect(","));
    MW_RETURN_IF_ERROR(cursor_.Expect("["));
    size_t dim = 0;
    while (!cursor_.Take("]")) {
      if (dim > 0) MW_RETURN_IF_ERROR(cursor_.Expect(","));
      if (dim == dimensions.size()) break;
      MW_RETURN_IF_ERROR(ParseDim(dim++, result));
    }
    if (dim != dimensions.size() || cursor_.NextIs("{")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is not for the ", dimensions.size(), " dimensions of the tensor"));
    }
    while (cursor_.Take(",")) {
      MW_ASSIGN_OR_RETURN(const absl::string_view key, cursor_.Name("a word"));
      MW_RETURN_IF_ERROR(cursor_.Expect("="));
      MW_ASSIGN_OR_RETURN(const Axes axes, ParseAxes(result.mesh));
      if (key == "unreduced") result.sharding.pending = axes.list;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect(">"));
    std::sort(result.sharding.pending.begin(), result.sharding.pending.end());
    MW_RETURN_IF_ERROR(CheckSharding(result.sharding, dimensions, result.mesh,
                                     /*allow_uneven=*/true));
    return result;
  }

  absl::Status ParseDim(size_t dim, ShardySharding& result) {
    MW_ASSIGN_OR_RETURN(const Axes axes, ParseAxes(result.mesh));
    if (cursor_.Take("p")) {  // Its priority.
      MW_RETURN_IF_ERROR(cursor_.Number().status());
    }
    result.sharding.dims[dim][0].axes = axes.list;
    result.free[dim] = axes.open && axes.list.empty();
    return absl::OkStatus();
  }

  struct Axes {
    AxisList list;
    bool open = false;  // Whether it ends in '?'.
  };

  // {"data", "model":(1)2, ?}
  absl::StatusOr<Axes> ParseAxes(const Mesh& mesh) {
    Axes axes;
    MW_RETURN_IF_ERROR(cursor_.Expect("{"));
    for (bool first = true; !cursor_.Take("}"); first = false) {
      if (!first) MW_RETURN_IF_ERROR(cursor_.Expect(","));
      if (cursor_.Take("?")) {
        axes.open = true;
        continue;
      }
      MW_ASSIGN_OR_RETURN(const AxisList piece, ParsePiece(mesh));
      if (!Disjoint(piece, axes.list)) {
        return absl::InvalidArgumentError("uses an axis twice");
      }
      axes.list.Append(piece);
    }
    return axes;
  }

  absl::StatusOr<AxisList> ParsePiece(const Mesh& mesh) {
    MW_ASSIGN_OR_RETURN(const absl::string_view quoted, cursor_.Quoted());
    const std::string name = AxisIdentifier(quoted);
    if (!cursor_.Take(":(")) return meshwright::ParseAxes(name, mesh);
    MW_ASSIGN_OR_RETURN(const int64_t before, cursor_.Number());
    MW_RETURN_IF_ERROR(cursor_.Expect(")"));
    MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Number());
    return FindSubAxes(mesh, name, before, size);
  }

  TextCursor cursor_;
  const ShardyMeshes& meshes_;
};

}  // namespace

std::string AxisIdentifier(absl::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') c = '_';
  }
  if (result.empty() || absl::ascii_isdigit(result[0])) {
    result.insert(0, "_");
  }
  return result;
}

absl::StatusOr<ShardyMeshes> ParseShardyMeshes(absl::string_view text) {
  const ShardyMeshes none;
  const std::string plain = Unescaped(text);
  absl::StatusOr<ShardyMeshes> meshes = Parser(plain, none).ParseMeshes();
  if (!meshes.ok()) {
    return Annotate(meshes.status(), "xla.sdy.meshes of the module");
  }
  return meshes;
}

absl::StatusOr<std::vector<ShardySharding>> ParseShardyShardings(
    absl::string_view text, const ShardyMeshes& meshes,
    absl::Span<const Shape* const> shapes) {
  const std::string plain = Unescaped(text);
  absl::StatusOr<std::vector<ShardySharding>> shardings =
      Parser(plain, meshes).ParseShardings(shapes);
  if (!shardings.ok()) {
    return Annotate(shardings.status(), absl::StrCat("sharding ", plain));
  }
  return shardings;
}

}  // namespace meshwright
