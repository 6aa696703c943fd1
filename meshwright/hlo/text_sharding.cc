#include "meshwright/hlo/text_sharding.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/iota_groups.h"
#include "meshwright/hlo/mesh_groups.h"
#include "meshwright/hlo/sharding_kind.h"
#include "meshwright/hlo/text_fields.h"

namespace meshwright::internal {
namespace {

using Kind = OpSharding::Kind;

constexpr absl::string_view kMeshAxes =
    "shardings given as mesh axes are not supported; lower with explicit or "
    "iota lists";

// Fields of the schema's OpSharding that are preserved but not interpreted.
constexpr int kIsShardGroup = 11;
constexpr int kShardGroupId = 12;
constexpr int kShardGroupType = 13;

// Takes a kind that is a word on its own in braces or in last_tile_dims.
std::optional<Kind> TakeKind(TextLexer& lexer) {
  for (const Kind kind : {Kind::kReplicated, Kind::kMaximal, Kind::kManual,
                          Kind::kUnknown, Kind::kUnreduced}) {
    if (lexer.TakeWord(KindName(kind))) return kind;
  }
  return std::nullopt;
}

struct Iota {
  std::vector<int64_t> reshape_dims;
  std::vector<int32_t> perm;
};

// "[2,4]T(1,0)"; without T the order is unchanged.
Iota ReadDimsAndPerm(TextLexer& lexer) {
  Iota iota;
  iota.reshape_dims = lexer.Integers("[", "]");
  if (lexer.Take("T")) {
    lexer.List("(", ")", [&] { iota.perm.push_back(lexer.SmallInteger()); });
  } else {
    iota.perm.resize(iota.reshape_dims.size());
    std::iota(iota.perm.begin(), iota.perm.end(), 0);
  }
  return iota;
}

Iota ReadIota(TextLexer& lexer) {
  lexer.Expect("<=");
  return ReadDimsAndPerm(lexer);
}

// "[2,2]0,2,1,3" or "[2,4]<=[8]".
void ReadTiles(TextLexer& lexer, OpSharding& sharding) {
  sharding.kind = Kind::kTiled;
  sharding.tile_dimensions = lexer.Integers("[", "]");
  if (lexer.NextIs("<=")) {
    Iota iota = ReadIota(lexer);
    sharding.iota_reshape_dims = std::move(iota.reshape_dims);
    sharding.iota_transpose_perm = std::move(iota.perm);
    return;
  }
  do {
    sharding.devices.push_back(lexer.Integer());
  } while (lexer.Take(","));
}

void ReadLastTileDims(TextLexer& lexer, OpSharding& sharding) {
  lexer.List("{", "}", [&] {
    const std::optional<Kind> kind = TakeKind(lexer);
    if (!kind.has_value()) lexer.FailExpected("a kind of sharding");
    sharding.last_tile_dims.push_back(kind.value_or(Kind::kReplicated));
  });
}

// One word or field between the braces of a sharding.
void ReadPart(TextLexer& lexer, OpSharding& sharding) {
  if (const std::optional<Kind> kind = TakeKind(lexer)) {
    sharding.kind = *kind;
  } else if (lexer.TakeWord("devices")) {
    lexer.Expect("=");
    ReadTiles(lexer, sharding);
  } else if (lexer.TakeWord("device")) {
    lexer.Expect("=");
    sharding.tile_dimensions = {1};
    sharding.devices = {lexer.Integer()};
  } else if (lexer.TakeWord("last_tile_dim_replicate")) {
    sharding.replicate_on_last_tile_dim = true;
  } else if (lexer.TakeWord("last_tile_dims")) {
    lexer.Expect("=");
    ReadLastTileDims(lexer, sharding);
  } else if (lexer.TakeWord("metadata")) {
    lexer.Expect("=");
    lexer.SkipValue();
  } else if (const bool like = lexer.TakeWord("shard_like");
             like || lexer.TakeWord("shard_as")) {
    AddField(kIsShardGroup, 1, sharding.unknown_fields);
    AddField(kShardGroupId, lexer.Integer(), sharding.unknown_fields);
    AddField(kShardGroupType, like ? 1 : 0, sharding.unknown_fields);
  } else if (lexer.NextWord() == "mesh" || lexer.NextWord() == "maximal_mesh") {
    lexer.Fail(kMeshAxes);
  } else {
    lexer.FailExpected("a sharding");
  }
}

void CheckSharding(TextLexer& lexer, size_t start, const OpSharding& sharding) {
  if (sharding.kind == Kind::kMaximal && sharding.devices.size() != 1) {
    lexer.FailAt(start, "expected device=NUMBER after maximal");
  }
  if (sharding.kind != Kind::kMaximal && sharding.kind != Kind::kTiled &&
      !sharding.devices.empty()) {
    lexer.FailAt(start,
                 absl::StrCat("a sharding that is ", KindName(sharding.kind),
                              " has no devices"));
  }
}

// Reads what follows the opening brace.
OpSharding ReadSingle(TextLexer& lexer) {
  const size_t start = lexer.position();
  OpSharding sharding;
  do {
    ReadPart(lexer, sharding);
  } while (lexer.ok() && !lexer.NextIs("}"));
  CheckSharding(lexer, start, sharding);
  lexer.Expect("}");
  return sharding;
}

}  // namespace

OpSharding ReadShardingText(TextLexer& lexer) {
  lexer.Expect("{");
  if (!lexer.NextIs("{") && !lexer.NextIs("}")) return ReadSingle(lexer);
  OpSharding sharding;
  sharding.kind = Kind::kTuple;
  if (lexer.Take("}")) return sharding;
  do {
    lexer.Expect("{");
    sharding.tuple.push_back(ReadSingle(lexer));
  } while (lexer.Take(","));
  lexer.Expect("}");
  return sharding;
}

namespace {

std::string ReadAxisName(TextLexer& lexer) {
  lexer.Expect("'");
  std::string name(lexer.Word("an axis"));
  lexer.Expect("'");
  return name;
}

// "(0,2,1,3)" or "([2,4]T(1,0))".
std::vector<int64_t> ReadDeviceIds(TextLexer& lexer) {
  const size_t start = lexer.position();
  lexer.Expect("(");
  std::vector<int64_t> ids;
  if (lexer.NextIs("[")) {
    const Iota iota = ReadDimsAndPerm(lexer);
    if (!lexer.ok()) return ids;
    auto expanded = ExpandIota(iota.reshape_dims, iota.perm);
    if (!expanded.ok()) lexer.FailAt(start, expanded.status().message());
    if (expanded.ok()) ids = *std::move(expanded);
  } else {
    do {
      ids.push_back(lexer.Integer());
    } while (lexer.Take(","));
  }
  lexer.Expect(")");
  return ids;
}

// "mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a','b':(2)2}", after "mesh".
std::vector<std::vector<int64_t>> ReadMeshGroups(TextLexer& lexer) {
  const size_t start = lexer.position();
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  lexer.List("[", "]", [&] {
    names.push_back(ReadAxisName(lexer));
    lexer.Expect("=");
    sizes.push_back(lexer.Integer());
  });
  std::vector<int64_t> devices;
  if (lexer.Take(",")) {
    if (!lexer.TakeWord("device_ids")) lexer.FailExpected("device_ids");
    lexer.Expect("=");
    devices = ReadDeviceIds(lexer);
  }
  std::vector<MeshAxisPart> parts;
  lexer.List("{", "}", [&] {
    const size_t at = lexer.position();
    const auto found = std::ranges::find(names, ReadAxisName(lexer));
    if (found == names.end()) lexer.FailAt(at, "the mesh has no such axis");
    MeshAxisPart& part = parts.emplace_back();
    part.axis = found - names.begin();
    if (!lexer.Take(":")) return;
    lexer.Expect("(");
    part.pre_size = lexer.Integer();
    lexer.Expect(")");
    part.size = lexer.Integer();
  });
  if (!lexer.ok()) return {};
  auto groups = ExpandMeshGroups(sizes, devices, parts);
  if (groups.ok()) return *std::move(groups);
  lexer.FailAt(start, groups.status().message());
  return {};
}

}  // namespace

std::vector<std::vector<int64_t>> ReadGroups(TextLexer& lexer) {
  if (lexer.TakeWord("mesh")) return ReadMeshGroups(lexer);
  std::vector<std::vector<int64_t>> groups;
  if (lexer.NextIs("{")) {
    lexer.List("{", "}", [&] { groups.push_back(lexer.Integers()); });
    return groups;
  }
  if (!lexer.NextIs("[")) {
    lexer.FailExpected("groups of devices");
    return groups;
  }
  const size_t start = lexer.position();
  const std::vector<int64_t> sizes = lexer.Integers("[", "]");
  const Iota iota = ReadIota(lexer);
  if (sizes.size() != 2) {
    lexer.FailAt(start, "expected [GROUPS,SIZE] in front of <=");
  }
  if (!lexer.ok()) return groups;
  absl::StatusOr<std::vector<std::vector<int64_t>>> expanded =
      ExpandIotaGroups(sizes[0], sizes[1], iota.reshape_dims, iota.perm);
  if (!expanded.ok()) {
    lexer.FailAt(start, expanded.status().message());
    return groups;
  }
  return *std::move(expanded);
}

}  // namespace meshwright::internal
