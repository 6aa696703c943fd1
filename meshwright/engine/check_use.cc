#include "meshwright/engine/check_use.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

absl::Status CheckArgument(const Buffer* buffer, const BufferShape& wanted,
                           const Device& device, size_t index) {
  // Built only on failure: this runs for every argument of every step.
  const auto where = [&] {
    return absl::StrCat("argument ", index, " on device ", device.id());
  };
  if (buffer == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(where(), " is null"));
  }
  if (&buffer->device() != &device) {
    return absl::InvalidArgumentError(
        absl::StrCat(where(), " is on device ", buffer->device().id(),
                     " or belongs to another client"));
  }
  if (buffer->IsDeleted()) {
    return absl::FailedPreconditionError(
        absl::StrCat(where(), " was deleted or donated"));
  }
  if (buffer->shape() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(where(), " is ", buffer->shape().ToString(),
                     ", the program takes ", wanted.ToString()));
  }
  return absl::OkStatus();
}

// A donated buffer must not be passed twice.
absl::Status CheckDonations(const std::vector<bool>& donated,
                            absl::Span<Buffer* const> arguments,
                            const Device& device) {
  struct Use {
    const Buffer* buffer;
    size_t index;
  };
  std::vector<Use> uses;
  uses.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    uses.push_back({arguments[i], i});
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::less<>()(a.buffer, b.buffer);
  });
  for (size_t i = 1; i < uses.size(); ++i) {
    const Use& a = uses[i - 1];
    const Use& b = uses[i];
    if (a.buffer == b.buffer && (donated[a.index] || donated[b.index])) {
      return absl::InvalidArgumentError(
          absl::StrCat("arguments ", std::min(a.index, b.index), " and ",
                       std::max(a.index, b.index), " on device ", device.id(),
                       " are the same buffer, which is to be donated"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> DonatedParameters(
    const ProgramSignature& signature, const ExecuteOptions& options) {
  std::vector<bool> donated(signature.parameters.size(), false);
  for (const auto& donation : signature.donations) {
    donated[donation.parameter] = true;
  }
  for (const int64_t index : options.non_donatable) {
    if (index < 0 || index >= std::ssize(donated)) {
      return absl::InvalidArgumentError(
          absl::StrCat("non_donatable names parameter ", index,
                       ", the program has ", donated.size()));
    }
    donated[index] = false;
  }
  return donated;
}

}  // namespace

absl::Status CheckArguments(
    const ProgramSignature& signature, absl::Span<const Device* const> devices,
    absl::Span<const absl::Span<Buffer* const>> arguments,
    const ExecuteOptions& options) {
  if (arguments.size() != devices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("got arguments for ", arguments.size(),
                     " devices, the program runs on ", devices.size()));
  }
  MW_ASSIGN_OR_RETURN(const std::vector<bool> donated,
                      DonatedParameters(signature, options));
  const size_t count = signature.parameters.size();
  for (size_t d = 0; d < devices.size(); ++d) {
    if (arguments[d].size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("got ", arguments[d].size(), " arguments on device ",
                       devices[d]->id(), ", the program takes ", count));
    }
    for (size_t i = 0; i < count; ++i) {
      MW_RETURN_IF_ERROR(CheckArgument(arguments[d][i], signature.parameters[i],
                                       *devices[d], i));
    }
    MW_RETURN_IF_ERROR(CheckDonations(donated, arguments[d], *devices[d]));
  }
  return absl::OkStatus();
}

absl::Status CheckHostArray(const HostArray& array) {
  if (!IsBufferType(array.shape.type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an array cannot have element type ", Name(array.shape.type), " (",
        static_cast<int>(array.shape.type), ")"));
  }
  for (const int64_t size : array.shape.dimensions) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(array.shape.ToString(), " has a negative dimension"));
    }
  }
  const int64_t wanted = array.shape.host_bytes();
  if (std::ssize(array.bytes) != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(array.shape.ToString(), " takes ", wanted, " bytes, got ",
                     array.bytes.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckDestination(const Buffer& buffer, size_t bytes) {
  const int64_t wanted = buffer.shape().host_bytes();
  if (static_cast<int64_t>(bytes) != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("a buffer of ", buffer.shape().ToString(), " fills ",
                     wanted, " bytes, the destination has ", bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckCompileOptions(const CompileOptions& options,
                                 absl::Span<const int> known) {
  if (options.num_replicas < 1 || options.num_partitions < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a program needs at least 1 replica and 1 partition, got ",
                     options.num_replicas, " and ", options.num_partitions));
  }
  const int64_t wanted = int64_t{options.num_replicas} * options.num_partitions;
  if (wanted > std::ssize(known)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a program for ", wanted, " devices (", options.num_replicas,
        " replicas x ", options.num_partitions, " partitions), the client has ",
        known.size()));
  }
  if (options.device_ids.empty()) return absl::OkStatus();
  if (std::ssize(options.device_ids) != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("device_ids names ", options.device_ids.size(),
                     " devices, the program needs ", wanted));
  }
  std::vector<int> ids = options.device_ids;
  std::sort(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0 && ids[i] == ids[i - 1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("device_ids names device ", ids[i], " twice"));
    }
    if (std::find(known.begin(), known.end(), ids[i]) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device_ids names device ", ids[i], ", which the client has not"));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
