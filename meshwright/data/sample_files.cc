#include "meshwright/data/sample_files.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/tensor_index.h"

namespace meshwright {
namespace {

using Kind = DatasetSpec::Kind;

constexpr size_t kMostOpen = 256;
constexpr char kTokens[] = "";  // The key for the positions of all tokens.

int64_t ElementBytes(const Tensor& tensor) {
  return tensor.type == ElementType::kInvalid ? tensor.raw_bytes
                                              : HostBytes(tensor.type);
}

std::string TypeName(const Tensor& tensor) {
  return tensor.type == ElementType::kInvalid
             ? absl::StrCat("raw", 8 * tensor.raw_bytes)
             : std::string(Name(tensor.type));
}

bool IsArrayFile(const RandomAccessFile& file) {
  char head[6] = {};
  return file.bytes() >= 6 && file.Read(0, head, sizeof(head)).ok() &&
         absl::string_view(head, 6) == "\x93NUMPY";
}

}  // namespace

SampleFiles::SampleFiles(DatasetSpec spec, std::vector<std::string> paths,
                         std::map<std::string, Shape> parameters)
    : spec_(std::move(spec)), parameters_(std::move(parameters)) {
  for (std::string& path : paths) {
    files_.push_back({.path = std::move(path)});
  }
}

absl::StatusOr<RandomAccessFile*> SampleFiles::OpenFile(File& file) {
  if (file.open != nullptr) return file.open.get();
  MW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> open,
                      RandomAccessFile::Open(file.path));
  if (file.bytes < 0) {
    const absl::Status indexed = Index(*open, file);
    if (!indexed.ok()) {
      return absl::StartsWith(indexed.message(), file.path)
                 ? indexed
                 : Annotate(indexed, file.path);
    }
    file.bytes = open->bytes();
  } else if (file.bytes != open->bytes()) {
    return absl::DataLossError(absl::StrCat(
        file.path, ": has changed since it was first read: it had ", file.bytes,
        " bytes, and has ", open->bytes()));
  }
  file.open = std::move(open);
  open_.push_back(&file);
  if (open_.size() > kMostOpen) {
    open_.front()->open = nullptr;
    open_.pop_front();
  }
  return file.open.get();
}

absl::Status SampleFiles::Index(const RandomAccessFile& open,
                                File& file) const {
  MW_RETURN_IF_ERROR(spec_.kind == Kind::kTokens ? IndexTokens(open, file)
                                                 : IndexArrays(open, file));
  if (file.samples > 0) return absl::OkStatus();
  return Bad(spec_.kind == Kind::kArrays
                 ? std::string("has no samples")
                 : absl::StrCat("is shorter than one sample, the ",
                                spec_.sequence + 1, " tokens of \"sequence\": ",
                                spec_.sequence, " and the one that follows"));
}

absl::Status SampleFiles::IndexTokens(const RandomAccessFile& open,
                                      File& file) const {
  PlacedTensor place;
  if (IsArrayFile(open)) {
    MW_ASSIGN_OR_RETURN(std::vector<PlacedTensor> placed, IndexTensors(open));
    place = std::move(placed[0]);
    if (place.tensor.type != spec_.token_type ||
        place.tensor.dimensions.size() != 1) {
      return Bad(absl::StrCat("is ", TypeName(place.tensor), "[",
                              absl::StrJoin(place.tensor.dimensions, ","),
                              "], not a flat array of ", Name(spec_.token_type),
                              ", as \"dtype\" says"));
    }
  } else {
    const int64_t width = HostBytes(spec_.token_type);
    if (open.bytes() % width != 0) {
      return Bad(absl::StrCat("its ", open.bytes(),
                              " bytes are no multiple of the ", width,
                              " of a token (\"dtype\")"));
    }
    place.tensor.type = spec_.token_type;
    place.tensor.dimensions = {open.bytes() / width};
  }
  const int64_t tokens = place.tensor.dimensions[0];
  file.samples = tokens > 0 ? (tokens - 1) / spec_.sequence : 0;
  for (const auto& [parameter, shape] : parameters_) {
    MW_RETURN_IF_ERROR(CheckType(parameter, place));
  }
  file.places[kTokens] = std::move(place);
  return absl::OkStatus();
}

absl::Status SampleFiles::IndexArrays(const RandomAccessFile& open,
                                      File& file) const {
  MW_ASSIGN_OR_RETURN(const std::vector<PlacedTensor> placed,
                      IndexTensors(open));
  std::string first;
  for (const auto& [parameter, shape] : parameters_) {
    const std::string& field = spec_.parameters.at(parameter);
    const auto found = std::ranges::find_if(
        placed,
        [&](const PlacedTensor& one) { return one.tensor.name == field; });
    if (found == placed.end()) {
      return Bad(absl::StrCat(
          "has no array \"", field, "\"; it has ",
          absl::StrJoin(placed, ", ",
                        [](std::string* out, const PlacedTensor& one) {
                          absl::StrAppend(out, "\"", one.tensor.name, "\"");
                        })));
    }
    const std::vector<int64_t>& dimensions = found->tensor.dimensions;
    if (dimensions.size() != shape.dimensions.size() ||
        !std::equal(dimensions.begin() + 1, dimensions.end(),
                    shape.dimensions.begin() + 1)) {
      return Bad(absl::StrCat("array \"", field, "\" is [",
                              absl::StrJoin(dimensions, ","),
                              "]; its samples do not fit parameter ", parameter,
                              ", ", shape.ToString()));
    }
    MW_RETURN_IF_ERROR(CheckType(parameter, *found));
    if (first.empty()) {
      file.samples = dimensions[0];
      first = field;
    } else if (dimensions[0] != file.samples) {
      return Bad(absl::StrCat("array \"", first, "\" has ", file.samples,
                              " samples, \"", field, "\" ", dimensions[0]));
    }
    file.places[parameter] = *found;
  }
  return absl::OkStatus();
}

absl::Status SampleFiles::CheckType(const std::string& parameter,
                                    const PlacedTensor& place) const {
  const Shape& shape = parameters_.at(parameter);
  Tensor probe{.type = place.tensor.type,
               .data = std::string(ElementBytes(place.tensor), '\0'),
               .raw_bytes = place.tensor.raw_bytes};
  if (!Conform(Shape::Scalar(shape.element_type), probe).ok()) {
    return Bad(absl::StrCat(TypeName(place.tensor),
                            " does not convert to parameter ", parameter, ", ",
                            shape.ToString()));
  }
  // The rows of a batch are converted together.
  for (const File& file : files_) {
    const auto other = file.places.find(
        spec_.kind == Kind::kTokens ? std::string(kTokens) : parameter);
    if (other == file.places.end()) continue;
    if (TypeName(other->second.tensor) == TypeName(place.tensor)) break;
    return Bad(absl::StrCat("array \"", place.tensor.name, "\" is ",
                            TypeName(place.tensor), ", in ", file.path, " ",
                            TypeName(other->second.tensor)));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SampleFiles::Samples(int64_t file) {
  if (files_[file].bytes < 0) {
    MW_RETURN_IF_ERROR(OpenFile(files_[file]).status());
  }
  return files_[file].samples;
}

absl::Status SampleFiles::Append(int64_t number, int64_t sample,
                                 const std::string& parameter, Tensor& rows) {
  File& file = files_[number];
  MW_ASSIGN_OR_RETURN(const RandomAccessFile* open, OpenFile(file));
  const bool is_tokens = spec_.kind == Kind::kTokens;
  const PlacedTensor& place =
      file.places.at(is_tokens ? std::string(kTokens) : parameter);
  const std::vector<int64_t>& shape = parameters_.at(parameter).dimensions;
  int64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i) elements *= shape[i];
  int64_t first = sample * elements;
  if (is_tokens) {
    first = sample * spec_.sequence +
            (spec_.parameters.at(parameter) == "targets" ? 1 : 0);
  }
  const int64_t width = ElementBytes(place.tensor);
  rows.type = place.tensor.type;
  rows.raw_bytes = place.tensor.raw_bytes;
  const size_t filled = rows.data.size();
  rows.data.resize(filled + elements * width);
  return open->Read(place.offset + first * width, rows.data.data() + filled,
                    elements * width);
}

}  // namespace meshwright
