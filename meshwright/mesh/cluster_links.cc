#include "meshwright/mesh/cluster_links.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace meshwright::internal {
namespace {

// The unit of a size, in the order of levels that turn out to have equal size.
enum class Unit { kDevices, kHost, kHosts, kAll };

// A level as given in the file: ports by name, and a size that may exceed the
// cluster.
struct Written {
  LinkLevel level;
  Unit unit = Unit::kAll;
  double size = std::numeric_limits<double>::infinity();  // In devices.
  std::optional<std::string> per;
};

class Reader {
 public:
  Reader(const Json& links, Cluster& cluster)
      : links_(links), cluster_(cluster) {}

  absl::Status Read() {
    if (!links_.is_object()) return Bad("\"links\" must be an object");
    for (const char* usual : {"host", "cluster"}) {
      if (!links_.contains(usual)) {
        MW_RETURN_IF_ERROR(Add(usual, Json::object()));
      }
    }
    for (const auto& [name, json] : links_.items()) {
      MW_RETURN_IF_ERROR(Add(name, json));
    }
    MW_RETURN_IF_ERROR(Order());
    for (Written& written : written_) MW_RETURN_IF_ERROR(SetPort(written));
    for (Written& written : written_) {
      cluster_.levels.push_back(std::move(written.level));
    }
    return absl::OkStatus();
  }

 private:
  static std::string Where(const std::string& name) {
    return absl::StrCat("link \"", name, "\"");
  }

  // The link of the device kind that has the least bandwidth per device.
  const UsualLink& UsualOf(bool inside_host) const {
    const UsualLink* slowest = nullptr;
    double least = 0;
    for (const Host& host : cluster_.hosts) {
      const DeviceKind& kind = *FindDeviceKind(cluster_.ModelOf(host).kind);
      const UsualLink& link = inside_host ? kind.host : kind.cluster;
      const int64_t sharing =
          link.per_device || inside_host ? 1 : cluster_.devices_per_host();
      const double has = link.gbps / static_cast<double>(sharing);
      if (slowest == nullptr || has < least) slowest = &link, least = has;
      if (cluster_.models.empty()) break;
    }
    return *slowest;
  }

  absl::Status Add(const std::string& name, const Json& json) {
    MW_ASSIGN_OR_RETURN(const JsonObject object,
                        JsonObject::Create(json, Where(name),
                                           {"gbps", "us", "hosts", "devices",
                                            "per", "oversubscription"}));
    Written written;
    written.level.name = name;
    const bool is_usual = name == "host" || name == "cluster";
    if (is_usual) {
      const UsualLink& usual = UsualOf(name == "host");
      written.level.gbps = usual.gbps;
      written.level.us = usual.us;
      // A default speed implies its default ports.
      if (usual.per_device && !object.Has("gbps")) written.per = "device";
    }
    for (const char* key : {"gbps", "us"}) {
      if (!is_usual && !object.Has(key)) {
        return Bad(Where(name), ": no \"", key, "\"");
      }
    }
    MW_RETURN_IF_ERROR(object.Read("gbps", written.level.gbps));
    MW_RETURN_IF_ERROR(object.Read("us", written.level.us));
    MW_RETURN_IF_ERROR(
        object.Read("oversubscription", written.level.oversubscription));
    if (object.Has("per")) {
      MW_RETURN_IF_ERROR(object.Read("per", written.per.emplace()));
    }
    MW_RETURN_IF_ERROR(ReadSize(object, written));
    written_.push_back(std::move(written));
    return absl::OkStatus();
  }

  absl::Status ReadSize(const JsonObject& object, Written& written) const {
    LinkLevel& level = written.level;
    const double per_host = static_cast<double>(cluster_.devices_per_host());
    if (level.name == "host") {
      if (object.Has("hosts") || object.Has("devices")) {
        return Bad(Where("host"), " joins the devices of a host; its size is ",
                   "that of \"hosts\"");
      }
      SetSize(Unit::kHost, per_host, written);
      return absl::OkStatus();
    }
    if (object.Has("hosts") && object.Has("devices")) {
      return Bad(Where(level.name), ": a size in hosts or devices, not both");
    }
    const char* key = object.Has("hosts") ? "hosts" : "devices";
    if (!object.Has(key)) {
      level.devices = cluster_.device_count();
      return absl::OkStatus();
    }
    int64_t size = 0;
    MW_RETURN_IF_ERROR(object.Read(key, size));
    if (size < 1) {
      return Bad(Where(level.name), ": \"", key, "\" must be at least 1, not ",
                 size);
    }
    if (object.Has("hosts")) {
      SetSize(Unit::kHosts, static_cast<double>(size) * per_host, written);
    } else {
      SetSize(Unit::kDevices, static_cast<double>(size), written);
    }
    return absl::OkStatus();
  }

  // A level larger than the cluster joins all of it.
  void SetSize(Unit unit, double size, Written& written) const {
    written.unit = unit;
    written.size = size;
    written.level.devices = static_cast<int64_t>(
        std::min(size, static_cast<double>(cluster_.device_count())));
  }

  absl::Status Order() {
    const Written* outermost = nullptr;
    for (const Written& written : written_) {
      if (written.unit != Unit::kAll) continue;
      if (outermost != nullptr) {
        return Bad("links \"", outermost->level.name, "\" and \"",
                   written.level.name,
                   "\" both have no size; give one \"hosts\" or \"devices\"");
      }
      outermost = &written;
    }
    std::stable_sort(written_.begin(), written_.end(),
                     [](const Written& a, const Written& b) {
                       return std::tuple(a.size, a.unit) <
                              std::tuple(b.size, b.unit);
                     });
    for (size_t i = 1; i < written_.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckApart(written_[i - 1], written_[i]));
    }
    return absl::OkStatus();
  }

  // Levels that are all larger than the cluster, or of which one is a host, may
  // have the same size.
  absl::Status CheckApart(const Written& inner, const Written& outer) const {
    if (inner.unit != outer.unit || inner.size != outer.size ||
        inner.level.devices == cluster_.device_count()) {
      return absl::OkStatus();
    }
    return Bad("links \"", inner.level.name, "\" and \"", outer.level.name,
               "\" both join ", inner.level.devices,
               " devices; leave one out, or give it another size");
  }

  absl::Status SetPort(Written& written) const {
    const auto self = std::find_if(
        written_.begin(), written_.end(), [&](const Written& other) {
          return other.level.name == written.level.name;
        });
    LinkLevel& level = written.level;
    if (!written.per.has_value()) {
      level.port_devices =
          self == written_.begin() ? 1 : std::prev(self)->level.devices;
      return absl::OkStatus();
    }
    if (*written.per == "device") {
      level.port_devices = 1;
      return absl::OkStatus();
    }
    for (auto inner = written_.begin(); inner != self; ++inner) {
      if (inner->level.name != *written.per) continue;
      level.port_devices = inner->level.devices;
      return absl::OkStatus();
    }
    return Bad(Where(level.name), ": \"per\" must be \"device\" or a level ",
               "inside this one, not \"", *written.per, "\"");
  }

  const Json& links_;
  Cluster& cluster_;
  std::vector<Written> written_;
};

}  // namespace

absl::Status ReadLinks(const Json& links, Cluster& cluster) {
  return Reader(links, cluster).Read();
}

Json WriteLinks(const Cluster& cluster) {
  Json links = Json::object();
  bool above_host = false;
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel& level = cluster.levels[i];
    Json& row = links[level.name];
    row = {{"gbps", level.gbps}, {"us", level.us}};
    if (level.oversubscription != 1) {
      row["oversubscription"] = level.oversubscription;
    }
    if (level.name == "host") {
      above_host = true;
    } else if (!above_host) {
      row["devices"] = level.devices;
    } else if (i + 1 < cluster.levels.size()) {
      row["hosts"] = level.devices / cluster.devices_per_host();
    }
    const int64_t inner = i == 0 ? 1 : cluster.levels[i - 1].devices;
    if (level.port_devices == inner) continue;
    row["per"] = "device";
    for (size_t j = 0; j < i && level.port_devices > 1; ++j) {
      const LinkLevel& other = cluster.levels[j];
      if (other.devices == level.port_devices) row["per"] = other.name;
    }
  }
  return links;
}

}  // namespace meshwright::internal
