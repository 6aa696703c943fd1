#include "meshwright/state/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

using Json = nlohmann::json;

// The limit of the reference implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr char kMetadata[] = "__metadata__";

struct DtypeRow {
  absl::string_view name;
  ElementType type;
};

constexpr DtypeRow kDtypes[] = {
    {"BOOL", ElementType::kPred},
    {"U8", ElementType::kU8},
    {"I8", ElementType::kS8},
    {"U16", ElementType::kU16},
    {"I16", ElementType::kS16},
    {"U32", ElementType::kU32},
    {"I32", ElementType::kS32},
    {"U64", ElementType::kU64},
    {"I64", ElementType::kS64},
    {"F16", ElementType::kF16},
    {"BF16", ElementType::kBF16},
    {"F32", ElementType::kF32},
    {"F64", ElementType::kF64},
    {"C64", ElementType::kC64},
    {"F8_E4M3", ElementType::kF8E4M3FN},
    {"F8_E5M2", ElementType::kF8E5M2},
    {"F8_E8M0", ElementType::kF8E8M0FNU},
};

std::string Shown(const std::string& name) {
  return absl::Utf8SafeCHexEscape(name.substr(0, 200));
}

uint64_t HeaderBytes(absl::string_view bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

bool IsCount(const Json& value) {
  return value.is_number_unsigned() &&
         value.get<uint64_t>() <=
             static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

absl::StatusOr<std::vector<int64_t>> ReadCounts(const Json& entry,
                                                const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_array()) {
    return Bad(absl::StrCat("has no list ", key));
  }
  std::vector<int64_t> counts;
  for (const Json& value : *it) {
    if (!IsCount(value)) {
      return Bad(absl::StrCat(key, " holds more than whole numbers"));
    }
    counts.push_back(value.get<int64_t>());
  }
  return counts;
}

absl::StatusOr<ElementType> ReadDtype(const Json& entry) {
  const auto it = entry.find("dtype");
  if (it == entry.end() || !it->is_string()) return Bad("has no dtype");
  const std::string name = it->get<std::string>();
  for (const DtypeRow& row : kDtypes) {
    if (row.name == name) return row.type;
  }
  return Bad(absl::StrCat("dtype ", Shown(name), " is not supported"));
}

// A tensor without its data, and the range of its data in the file.
struct Placed {
  Tensor tensor;
  int64_t begin = 0;
  int64_t end = 0;
};

absl::StatusOr<Placed> ReadEntry(const Json& entry) {
  if (!entry.is_object()) return Bad("is not described by an object");
  Placed placed;
  MW_ASSIGN_OR_RETURN(placed.tensor.type, ReadDtype(entry));
  MW_ASSIGN_OR_RETURN(placed.tensor.dimensions, ReadCounts(entry, "shape"));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets,
                      ReadCounts(entry, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return Bad("data_offsets is not [begin, end]");
  }
  placed.begin = offsets[0];
  placed.end = offsets[1];
  const std::optional<int64_t> bytes =
      CheckedBytes(placed.tensor.dimensions, HostBytes(placed.tensor.type));
  if (!bytes) return Bad("its shape overflows");
  if (*bytes != placed.end - placed.begin) {
    return Bad(absl::StrCat("its shape needs ", *bytes,
                            " bytes, data_offsets give ",
                            placed.end - placed.begin));
  }
  return placed;
}

absl::StatusOr<std::vector<Placed>> ReadHeader(absl::string_view text) {
  // Values nested deeper than a shape are dropped by the parser.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    return depth <= 3;
  };
  const Json header = Json::parse(text.begin(), text.end(), shallow,
                                  /*allow_exceptions=*/false);
  if (!header.is_object()) {
    return Bad("the safetensors header is not a JSON object");
  }
  std::vector<Placed> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) continue;
    absl::StatusOr<Placed> tensor = ReadEntry(entry);
    if (!tensor.ok()) return Annotate(tensor.status(), Shown(name));
    tensor->tensor.name = name;
    placed.push_back(*std::move(tensor));
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.begin, a.end, a.tensor.name) <
           std::tie(b.begin, b.end, b.tensor.name);
  });
  return placed;
}

absl::Status CheckContiguous(const std::vector<Placed>& placed,
                             int64_t data_bytes) {
  int64_t end = 0;
  for (const Placed& at : placed) {
    if (at.end > data_bytes) {
      return Bad(absl::StrCat(Shown(at.tensor.name), ": ends at byte ", at.end,
                              ", the file has ", data_bytes));
    }
    if (at.begin != end) {
      return Bad(absl::StrCat(Shown(at.tensor.name), ": begins at byte ",
                              at.begin, ", expected ", end));
    }
    end = at.end;
  }
  if (end == data_bytes) return absl::OkStatus();
  return Bad(absl::StrCat("the tensors end at byte ", end, ", the file has ",
                          data_bytes));
}

absl::StatusOr<absl::string_view> DtypeName(ElementType type) {
  for (const DtypeRow& row : kDtypes) {
    if (row.type == type) return row.name;
  }
  return Bad(absl::StrCat("safetensors has no type ", Name(type)));
}

// The header, preceded by its length.
absl::StatusOr<std::string> HeaderText(const Json& header) {
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    return Bad("a tensor's name is not UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  }
  return bytes + text;
}

}  // namespace

absl::StatusOr<std::vector<PlacedTensor>> IndexSafetensors(int64_t file_bytes,
                                                           ReadBytesAt read) {
  if (file_bytes < 8) return Bad("the safetensors file is cut short");
  std::string start(8, '\0');
  MW_RETURN_IF_ERROR(read(0, start.data(), start.size()));
  const uint64_t header_bytes = HeaderBytes(start);
  if (header_bytes > kMaxHeaderBytes ||
      header_bytes > static_cast<uint64_t>(file_bytes) - 8) {
    return Bad("is neither .npz, .npy nor safetensors, or is cut short");
  }
  std::string header(header_bytes, '\0');
  MW_RETURN_IF_ERROR(read(8, header.data(), header.size()));
  MW_ASSIGN_OR_RETURN(std::vector<Placed> placed, ReadHeader(header));
  const int64_t data = 8 + static_cast<int64_t>(header_bytes);
  MW_RETURN_IF_ERROR(CheckContiguous(placed, file_bytes - data));
  std::vector<PlacedTensor> result;
  for (Placed& at : placed) {
    result.push_back({std::move(at.tensor), data + at.begin});
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> ParseSafetensors(absl::string_view bytes) {
  MW_ASSIGN_OR_RETURN(
      std::vector<PlacedTensor> placed,
      IndexSafetensors(static_cast<int64_t>(bytes.size()),
                       [&](int64_t offset, char* out, size_t size) {
                         std::memcpy(out, bytes.data() + offset, size);
                         return absl::OkStatus();
                       }));
  std::vector<Tensor> tensors;
  for (PlacedTensor& at : placed) {
    Tensor& tensor = tensors.emplace_back(std::move(at.tensor));
    const int64_t size =
        *CheckedBytes(tensor.dimensions, HostBytes(tensor.type));
    tensor.data = std::string(bytes.substr(at.offset, size));
    if (tensor.type == ElementType::kPred) {
      for (char& value : tensor.data) value = value != 0;
    }
  }
  return tensors;
}

absl::StatusOr<SafetensorsPlan> PlanSafetensors(
    absl::Span<const Tensor> tensors) {
  SafetensorsPlan plan;
  for (const Tensor& tensor : tensors) plan.order.push_back(&tensor);
  std::sort(plan.order.begin(), plan.order.end(),
            [](const Tensor* a, const Tensor* b) {
              return std::tuple(-HostBytes(a->type), a->name) <
                     std::tuple(-HostBytes(b->type), b->name);
            });
  Json header = Json::object();
  int64_t offset = 0;
  for (const Tensor* tensor : plan.order) {
    const std::string name = Shown(tensor->name);
    const absl::StatusOr<absl::string_view> dtype = DtypeName(tensor->type);
    if (!dtype.ok()) return Annotate(dtype.status(), name);
    if (CheckedBytes(tensor->dimensions, HostBytes(tensor->type)) !=
        std::ssize(tensor->data)) {
      return Bad(absl::StrCat(name, ": its data do not fit its shape"));
    }
    if (tensor->name == kMetadata || header.contains(tensor->name)) {
      return Bad(absl::StrCat(name, ": the name is taken"));
    }
    const int64_t end = offset + std::ssize(tensor->data);
    header[tensor->name] = {{"dtype", std::string(*dtype)},
                            {"shape", tensor->dimensions},
                            {"data_offsets", {offset, end}}};
    offset = end;
  }
  MW_ASSIGN_OR_RETURN(plan.header, HeaderText(header));
  return plan;
}

bool IsSafetensorsType(ElementType type) { return DtypeName(type).ok(); }

absl::StatusOr<std::string> SafetensorsHeader(
    absl::Span<const SafetensorsEntry> entries,
    const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.name == kMetadata || header.contains(entry.name)) {
      return Bad(absl::StrCat(Shown(entry.name), ": the name is taken"));
    }
    const int64_t element_bytes = HostBytes(entry.type);
    const absl::StatusOr<absl::string_view> dtype = DtypeName(entry.type);
    std::vector<int64_t> shape = entry.dimensions;
    if (!dtype.ok() && element_bytes > 1) shape.push_back(element_bytes);
    const int64_t end =
        offset + CheckedBytes(entry.dimensions, element_bytes).value_or(0);
    header[entry.name] = {{"dtype", std::string(dtype.ok() ? *dtype : "U8")},
                          {"shape", shape},
                          {"data_offsets", {offset, end}}};
    offset = end;
  }
  return HeaderText(header);
}

}  // namespace meshwright
