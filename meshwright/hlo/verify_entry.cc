// What relates the entry's parameters and results to the caller's buffers.
#include <utility>

#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

// A buffer: a parameter number (-1 for the result) and a path inside it.
using Place = std::pair<int64_t, std::vector<int64_t>>;

absl::Status CheckValid(const Shape& shape) {
  std::string why;
  return IsValid(shape, &why) ? absl::OkStatus() : Bad("invalid shape: ", why);
}

absl::StatusOr<const Shape*> ArrayAt(const Shape& shape,
                                     const std::vector<int64_t>& path,
                                     absl::string_view what) {
  const Shape* found = SubShape(shape, path);
  if (found == nullptr) {
    return Bad(what, " has no element ", Describe(path), "; got ",
               Describe(shape));
  }
  if (!found->IsArray()) {
    return Bad(what, " at ", Describe(path), " must be an array; got ",
               Describe(*found));
  }
  return found;
}

absl::StatusOr<const Shape*> ParameterAt(const Signature& entry, int64_t number,
                                         const std::vector<int64_t>& path) {
  if (number < 0 || number >= std::ssize(entry.parameters)) {
    return Bad("parameter number out of range; expected 0 <= n < ",
               entry.parameters.size(), ", got ", number);
  }
  return ArrayAt(entry.parameters[number]->shape, path,
                 absl::StrCat("parameter ", number));
}

absl::Status CheckAlias(const Alias& alias, const Signature& entry) {
  MW_ASSIGN_OR_RETURN(const Shape* output,
                      ArrayAt(entry.root->shape, alias.output_index, "output"));
  MW_ASSIGN_OR_RETURN(
      const Shape* parameter,
      ParameterAt(entry, alias.parameter_number, alias.parameter_index));
  // XLA reuses memory of the same size, whatever it holds.
  if (ByteSize(*output) != ByteSize(*parameter)) {
    return Bad("output ", Describe(alias.output_index), " and parameter ",
               alias.parameter_number, " differ in size; expected ",
               Describe(*output), ", got ", Describe(*parameter));
  }
  return absl::OkStatus();
}

}  // namespace

const Shape* SubShape(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* found = &shape;
  for (const int64_t index : path) {
    if (!found->IsTuple() || index < 0 ||
        index >= std::ssize(found->tuple_shapes)) {
      return nullptr;
    }
    found = &found->tuple_shapes[index];
  }
  return found;
}

absl::Status CheckEntryLayout(const Module& module, const Signature& entry) {
  if (!module.entry_layout.has_value()) return absl::OkStatus();
  const ProgramShape& layout = *module.entry_layout;
  if (layout.parameters.size() != entry.parameters.size()) {
    return Bad("entry layout: wrong number of parameters; expected ",
               entry.parameters.size(), ", got ", layout.parameters.size());
  }
  for (size_t i = 0; i < layout.parameters.size(); ++i) {
    const Shape& expected = entry.parameters[i]->shape;
    const Shape& got = layout.parameters[i];
    if (!Compatible(expected, got)) {
      return Bad("entry layout: parameter ", i, " has the wrong shape; ",
                 "expected ", Describe(expected), ", got ", Describe(got));
    }
    MW_RETURN_IF_ERROR(
        Annotate(CheckValid(got), absl::StrCat("entry layout: parameter ", i)));
  }
  if (!Compatible(entry.root->shape, layout.result)) {
    return Bad("entry layout: the result has the wrong shape; expected ",
               Describe(entry.root->shape), ", got ", Describe(layout.result));
  }
  MW_RETURN_IF_ERROR(
      Annotate(CheckValid(layout.result), "entry layout: result"));
  const size_t names = layout.parameter_names.size();
  if (names != 0 && names != layout.parameters.size()) {
    return Bad("entry layout: wrong number of parameter names; expected ",
               layout.parameters.size(), ", got ", names);
  }
  return absl::OkStatus();
}

absl::Status CheckAliases(const Module& module, const Signature& entry) {
  absl::flat_hash_set<Place> seen;
  for (size_t i = 0; i < module.aliases.size(); ++i) {
    const Alias& alias = module.aliases[i];
    absl::Status status = CheckAlias(alias, entry);
    if (status.ok() && !seen.insert({-1, alias.output_index}).second) {
      status =
          Bad("output ", Describe(alias.output_index), " is aliased twice");
    }
    if (status.ok() &&
        !seen.insert({alias.parameter_number, alias.parameter_index}).second) {
      status = Bad("parameter ", alias.parameter_number, " at ",
                   Describe(alias.parameter_index), " is aliased twice");
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("alias ", i));
  }
  for (size_t i = 0; i < module.buffer_donors.size(); ++i) {
    const BufferDonor& donor = module.buffer_donors[i];
    absl::Status status =
        ParameterAt(entry, donor.parameter_number, donor.parameter_index)
            .status();
    if (status.ok() &&
        !seen.insert({donor.parameter_number, donor.parameter_index}).second) {
      status = Bad("parameter ", donor.parameter_number, " at ",
                   Describe(donor.parameter_index),
                   " is donated twice, or aliased as well");
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("buffer donor ", i));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
