#include "meshwright/engine/pjrt_compile_options.h"

#include <string>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "proto/compile_options.pb.h"

namespace meshwright {
namespace {

constexpr char kDisabledPasses[] = "xla_disable_hlo_passes";

pb::OptionOverrideProto ToProto(const OptionValue& value) {
  pb::OptionOverrideProto proto;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) proto.set_bool_field(v);
        if constexpr (std::is_same_v<T, int64_t>) proto.set_int_field(v);
        if constexpr (std::is_same_v<T, double>) proto.set_double_field(v);
        if constexpr (std::is_same_v<T, std::string>) proto.set_string_field(v);
      },
      value);
  return proto;
}

// Overrides take precedence over defaults, except for the list of disabled
// passes: the passes of both are disabled.
OptionMap Joined(const OptionMap& defaults, const OptionMap& overrides) {
  OptionMap joined = overrides;
  for (const auto& [name, value] : defaults) {
    const auto [entry, is_new] = joined.try_emplace(name, value);
    if (is_new || name != kDisabledPasses) continue;
    const auto* const first = std::get_if<std::string>(&value);
    auto* const more = std::get_if<std::string>(&entry->second);
    if (first != nullptr && more != nullptr && !more->empty()) {
      *more = absl::StrCat(*first, ",", *more);
    }
  }
  return joined;
}

void AssignDevices(const CompileOptions& options,
                   pb::DeviceAssignmentProto& assignment) {
  assignment.set_replica_count(options.num_replicas);
  assignment.set_computation_count(options.num_partitions);
  for (int p = 0; p < options.num_partitions; ++p) {
    auto& devices = *assignment.add_computation_devices();
    for (int r = 0; r < options.num_replicas; ++r) {
      devices.add_replica_device_ids(
          options.device_ids[r * options.num_partitions + p]);
    }
  }
}

}  // namespace

std::string SerializeCompileOptions(const CompileOptions& options,
                                    const OptionMap& defaults) {
  MW_CHECK(options.num_replicas >= 1 && options.num_partitions >= 1);
  pb::CompileOptionsProto proto;
  pb::ExecutableBuildOptionsProto& build =
      *proto.mutable_executable_build_options();
  build.set_device_ordinal(-1);  // The device assignment decides instead.
  build.set_num_replicas(options.num_replicas);
  build.set_num_partitions(options.num_partitions);
  build.set_use_spmd_partitioning(options.num_partitions > 1);
  build.set_use_shardy_partitioner(options.use_shardy);
  if (!options.device_ids.empty()) {
    AssignDevices(options, *build.mutable_device_assignment());
  }
  auto& overrides = *proto.mutable_env_option_overrides();
  for (const auto& [name, value] : Joined(defaults, options.xla_overrides)) {
    overrides[name] = ToProto(value);
  }
  return proto.SerializeAsString();
}

}  // namespace meshwright
