#include "meshwright/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Kind = DatasetSpec::Kind;

absl::Status CheckTokens(const DatasetSpec& spec, const std::string& parameter,
                         const std::string& field, const Shape& shape) {
  const int64_t tokens = spec.sequence + (field == "tokens" ? 1 : 0);
  if (shape.rank() == 2 && shape.dimensions[1] == tokens &&
      IsInteger(shape.element_type)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("dataset: parameter ", parameter, " is ", shape.ToString(),
                   "; \"", field, "\" are integers [batch,", tokens, "]"));
}

// The largest of the unsigned integers of `width` bytes.
uint64_t Largest(absl::string_view data, int64_t width) {
  uint64_t largest = 0;
  for (size_t at = 0; at + width <= data.size(); at += width) {
    uint64_t value = 0;
    std::memcpy(&value, data.data() + at, width);
    largest = std::max(largest, value);
  }
  return largest;
}

}  // namespace

absl::StatusOr<int64_t> BatchOf(
    const DatasetSpec& spec, const std::map<std::string, Shape>& parameters) {
  int64_t batch = 0;
  std::string first;
  for (const auto& [name, field] : spec.parameters) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dataset: no parameter \"", name, "\""));
    }
    const Shape& shape = found->second;
    if (!shape.IsArray() || shape.rank() == 0 || shape.dimensions[0] == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dataset: parameter ", name, " is ", shape.ToString(),
                       "; its first dimension must be the batch"));
    }
    if (spec.kind == Kind::kTokens) {
      MW_RETURN_IF_ERROR(CheckTokens(spec, name, field, shape));
    }
    if (first.empty()) {
      first = name;
      batch = shape.dimensions[0];
    } else if (shape.dimensions[0] != batch) {
      return absl::InvalidArgumentError(
          absl::StrCat("dataset: parameter ", name, " has ",
                       shape.dimensions[0], " rows, ", first, " ", batch));
    }
  }
  return batch;
}

Dataset::Dataset(DatasetSpec spec, std::map<std::string, Shape> parameters,
                 int64_t batch, std::unique_ptr<SampleFiles> files,
                 SampleOrder order)
    : spec_(std::move(spec)),
      parameters_(std::move(parameters)),
      batch_(batch),
      files_(std::move(files)),
      order_(std::move(order)) {}

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::Open(
    const DatasetSpec& spec, std::map<std::string, Shape> parameters) {
  MW_ASSIGN_OR_RETURN(const int64_t batch, BatchOf(spec, parameters));
  MW_ASSIGN_OR_RETURN(std::vector<std::string> paths, FindFiles(spec));
  std::erase_if(parameters, [&](const auto& one) {
    return !spec.parameters.contains(one.first);
  });
  auto files =
      std::make_unique<SampleFiles>(spec, std::move(paths), parameters);
  SampleFiles* const own = files.get();
  MW_ASSIGN_OR_RETURN(
      SampleOrder order,
      SampleOrder::Create(spec, own->count(), batch,
                          [own](int64_t file) { return own->Samples(file); }));
  return absl::WrapUnique(new Dataset(spec, std::move(parameters), batch,
                                      std::move(files), std::move(order)));
}

absl::Status Dataset::Convert(const std::string& parameter, int64_t position,
                              absl::Span<const int64_t> rows, Tensor& tensor) {
  const Shape& whole = parameters_.at(parameter);
  Shape expected = Shape::Array(whole.element_type, whole.dimensions);
  expected.dimensions[0] = std::ssize(rows);
  const bool fits = !spec_.vocabulary.has_value() ||
                    Largest(tensor.data, HostBytes(tensor.type)) <
                        static_cast<uint64_t>(*spec_.vocabulary);
  Tensor converted = tensor;
  if (fits && Conform(expected, converted).ok()) {
    tensor = std::move(converted);
    return absl::OkStatus();
  }
  // Find the row that does not fit.
  if (rows.size() > 1) {
    const size_t bytes = tensor.data.size() / rows.size();
    for (size_t i = 0; i < rows.size(); ++i) {
      Tensor row{.type = tensor.type,
                 .dimensions = tensor.dimensions,
                 .data = tensor.data.substr(i * bytes, bytes),
                 .raw_bytes = tensor.raw_bytes};
      row.dimensions[0] = 1;
      MW_RETURN_IF_ERROR(Convert(parameter, position, rows.subspan(i, 1), row));
    }
  }
  MW_ASSIGN_OR_RETURN(const SampleOrder::At at,
                      order_.Locate(position, rows[0]));
  const std::string where =
      absl::StrCat(files_->path(at.file), ": sample ", at.sample);
  if (!fits) {
    return absl::OutOfRangeError(absl::StrCat(
        where, " has token ", Largest(tensor.data, HostBytes(tensor.type)),
        ", \"vocabulary\" is ", *spec_.vocabulary));
  }
  return absl::OutOfRangeError(
      absl::StrCat(where, " has values that parameter ", parameter, ", ",
                   whole.ToString(), ", does not hold"));
}

absl::Status Dataset::CheckRows(int64_t position,
                                absl::Span<const int64_t> rows) const {
  for (int64_t step = 0; step < order_.cycle(); ++step) {
    for (const int64_t row : rows) {
      if (row < 0) continue;
      MW_RETURN_IF_ERROR(order_.Locate(position + step * batch_, row).status());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Dataset::ReadRows(const std::string& parameter,
                                         int64_t position,
                                         absl::Span<const int64_t> rows,
                                         char padding) {
  const Shape& whole = parameters_.at(parameter);
  Tensor tensor{.name = parameter, .dimensions = whole.dimensions};
  std::vector<int64_t> present;
  for (const int64_t row : rows) {
    if (row < 0) continue;
    present.push_back(row);
    MW_ASSIGN_OR_RETURN(const SampleOrder::At at, order_.Locate(position, row));
    MW_RETURN_IF_ERROR(files_->Append(at.file, at.sample, parameter, tensor));
  }
  tensor.dimensions[0] = std::ssize(present);
  if (tensor.type == ElementType::kPred) {
    for (char& value : tensor.data) value = value != 0;
  }
  if (present.empty()) {
    tensor.type = whole.element_type;
  } else {
    MW_RETURN_IF_ERROR(Convert(parameter, position, present, tensor));
  }
  if (present.size() == rows.size()) return tensor;
  tensor.dimensions[0] = std::ssize(rows);
  std::string padded(*CheckedBytes(tensor.dimensions, HostBytes(tensor.type)),
                     padding);
  const size_t bytes = padded.size() / rows.size();
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    std::memcpy(padded.data() + i * bytes, tensor.data.data() + next, bytes);
    next += bytes;
  }
  tensor.data = std::move(padded);
  return tensor;
}

}  // namespace meshwright
