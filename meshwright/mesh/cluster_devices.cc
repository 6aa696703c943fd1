#include "meshwright/mesh/cluster_devices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "meshwright/mesh/speed_factor.h"

namespace meshwright::internal {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

absl::Status SetMemory(double gib, const std::string& where,
                       DeviceModel& device) {
  if (!std::isfinite(gib) || gib <= 0 || gib > 1e9) {
    return Bad(where, ": \"memory_gib\" must be above 0, not ", gib);
  }
  device.memory_bytes = std::llround(gib * kGib);
  return absl::OkStatus();
}

// Sets the speed of a device relative to others of its kind.
absl::Status SetSpeed(double speed, const std::string& where,
                      DeviceModel& device) {
  if (!IsFactor(speed)) {
    return Bad(where, ": \"speed\" must be ", 1 / kMostTimes, " to ",
               kMostTimes, ", not ", speed);
  }
  for (const TflopsField& field : TflopsFields()) {
    device.tflops.*field.member *= speed;
  }
  device.memory_gbps *= speed;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const DeviceKind*> KindNamed(const std::string& name) {
  const DeviceKind* kind = FindDeviceKind(name);
  if (kind != nullptr) return kind;
  return Bad("unknown device kind \"", name, "\"; known are ",
             absl::StrJoin(KnownDeviceKinds(), ", "));
}

DeviceModel DeviceOf(const DeviceKind& kind) {
  return {kind.name, kind.tflops, std::llround(kind.memory_gib * kGib),
          kind.memory_gbps};
}

absl::StatusOr<DeviceModel> ParseDevice(const Json& json, std::string where) {
  if (json.is_string()) {
    return ParseDevice(Json{{"kind", json}}, std::move(where));
  }
  MW_ASSIGN_OR_RETURN(const JsonObject object,
                      JsonObject::Create(json, std::move(where),
                                         {"kind", "memory_gib", "memory_gbps",
                                          "tflops", "speed"}));
  std::string name;
  MW_RETURN_IF_ERROR(object.Read("kind", name));
  if (!object.Has("kind")) {
    return Bad(object.where(), ": no \"kind\"; known are ",
               absl::StrJoin(KnownDeviceKinds(), ", "));
  }
  const absl::StatusOr<const DeviceKind*> kind = KindNamed(name);
  if (!kind.ok()) return Bad(object.where(), ": ", kind.status().message());
  DeviceModel device = DeviceOf(**kind);
  MW_RETURN_IF_ERROR(object.Read("memory_gbps", device.memory_gbps));
  if (object.Has("memory_gib")) {
    double gib = 0;
    MW_RETURN_IF_ERROR(object.Read("memory_gib", gib));
    MW_RETURN_IF_ERROR(SetMemory(gib, object.where(), device));
  }
  if (object.Has("tflops")) {
    MW_ASSIGN_OR_RETURN(
        const JsonObject tflops,
        JsonObject::Create(object["tflops"], object.where() + ": tflops",
                           {"f64", "f32", "tf32", "bf16", "f16", "f8", "s8"}));
    for (const TflopsField& field : TflopsFields()) {
      MW_RETURN_IF_ERROR(tflops.Read(field.name, device.tflops.*field.member));
    }
  }
  if (object.Has("speed")) {
    double speed = 1;
    MW_RETURN_IF_ERROR(object.Read("speed", speed));
    MW_RETURN_IF_ERROR(SetSpeed(speed, object.where(), device));
  }
  return device;
}

Json WriteDevice(const DeviceModel& device) {
  Json json = {{"kind", device.kind},
               {"memory_gib", static_cast<double>(device.memory_bytes) / kGib},
               {"memory_gbps", device.memory_gbps}};
  for (const TflopsField& field : TflopsFields()) {
    json["tflops"][field.name] = device.tflops.*field.member;
  }
  return json;
}

int32_t AddModel(const DeviceModel& model, Cluster& cluster) {
  const auto found = std::ranges::find(cluster.models, model);
  const auto index = found - cluster.models.begin();
  if (found == cluster.models.end()) cluster.models.push_back(model);
  return static_cast<int32_t>(index);
}

}  // namespace meshwright::internal
