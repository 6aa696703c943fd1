#include "meshwright/mesh/cluster_file.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/json_fault.h"
#include "meshwright/mesh/cluster_devices.h"
#include "meshwright/mesh/cluster_json.h"
#include "meshwright/mesh/cluster_links.h"

namespace meshwright {
namespace {

using internal::Json;
using internal::JsonObject;

constexpr int64_t kMaxHosts = int64_t{1} << 20;
constexpr int64_t kTepdistPort = 1688;  // The default port of TePDist's server.
// The device kind of TePDist's files: its planner knows no other.
constexpr char kTepdistKind[] = "v100";

absl::Status AddHosts(const Json& json, Cluster& cluster) {
  std::vector<Host>& hosts = cluster.hosts;
  MW_ASSIGN_OR_RETURN(
      const JsonObject object,
      JsonObject::Create(
          json, absl::StrCat("hosts[", hosts.size(), "]"),
          {"address", "devices", "count", "device", "link_speed"}));
  Host host;
  MW_RETURN_IF_ERROR(object.Read("address", host.address));
  if (!object.Has("devices")) return Bad(object.where(), ": no \"devices\"");
  if (object["devices"].is_array()) {
    MW_RETURN_IF_ERROR(object.Read("devices", host.local_ids));
    host.devices = std::ssize(host.local_ids);
  } else {
    MW_RETURN_IF_ERROR(object.Read("devices", host.devices));
  }
  int64_t count = 1;
  MW_RETURN_IF_ERROR(object.Read("count", count));
  if (count < 1 || count > kMaxHosts - std::ssize(hosts)) {
    return Bad(object.where(), ": \"count\" must be 1 to 2^20, not ", count);
  }
  if (count > 1 && !host.address.empty()) {
    return Bad(object.where(), ": ", count, " hosts cannot share the address ",
               host.address);
  }
  MW_RETURN_IF_ERROR(object.Read("link_speed", host.link_speed));
  if (object.Has("device")) {
    MW_ASSIGN_OR_RETURN(
        const DeviceModel model,
        internal::ParseDevice(object["device"], object.where() + ": device"));
    host.model = internal::AddModel(model, cluster);
  } else if (cluster.device.kind.empty()) {
    return Bad("no \"device\"; add for instance \"device\": {\"kind\": ",
               "\"h200\"}, or one to ", object.where());
  } else {
    host.model = internal::AddModel(cluster.device, cluster);
  }
  hosts.insert(hosts.end(), static_cast<size_t>(count), host);
  return absl::OkStatus();
}

// Reads hosts and their devices.
absl::Status ReadHosts(const Json& json, Cluster& cluster) {
  if (!json.is_array()) return Bad("\"hosts\" must be a list");
  for (const Json& host : json) MW_RETURN_IF_ERROR(AddHosts(host, cluster));
  if (cluster.hosts.empty()) return absl::OkStatus();
  cluster.device = LeastOf(cluster.models);
  if (cluster.models.size() == 1) cluster.models.clear();
  return absl::OkStatus();
}

absl::StatusOr<Host> ParseTepdistHost(const Json& json, std::string where) {
  MW_ASSIGN_OR_RETURN(const JsonObject object,
                      JsonObject::Create(json, std::move(where), {}));
  Host host;
  std::string ip, port = absl::StrCat(kTepdistPort);
  for (const char* key : {"ip", "gpu_ids"}) {
    if (!object.Has(key)) return Bad(object.where(), ": no \"", key, "\"");
  }
  MW_RETURN_IF_ERROR(object.Read("ip", ip));
  if (object.Has("port") && object["port"].is_number_integer()) {
    port = absl::StrCat(object["port"].get<int64_t>());
  } else {
    MW_RETURN_IF_ERROR(object.Read("port", port));
  }
  host.address = absl::StrCat(ip, ":", port);
  if (object["gpu_ids"].is_array()) {
    MW_RETURN_IF_ERROR(object.Read("gpu_ids", host.local_ids));
  } else {
    std::string ids;
    MW_RETURN_IF_ERROR(object.Read("gpu_ids", ids));
    for (const absl::string_view id : absl::StrSplit(ids, ',')) {
      if (!absl::SimpleAtoi(id, &host.local_ids.emplace_back())) {
        return object.Wrong("gpu_ids", "numbers with commas between");
      }
    }
  }
  host.devices = std::ssize(host.local_ids);
  return host;
}

absl::StatusOr<std::vector<Host>> ParseTepdistHosts(const JsonObject& object) {
  std::vector<Host> hosts;
  MW_ASSIGN_OR_RETURN(hosts.emplace_back(),
                      ParseTepdistHost(object["master"], "master"));
  for (const char* key : {"workers", "slaves"}) {
    if (!object.Has(key)) continue;
    if (!object[key].is_array()) return object.Wrong(key, "a list");
    for (size_t i = 0; i < object[key].size(); ++i) {
      MW_ASSIGN_OR_RETURN(
          hosts.emplace_back(),
          ParseTepdistHost(object[key][i], absl::StrCat(key, "[", i, "]")));
    }
  }
  return hosts;
}

absl::StatusOr<DeviceModel> ChooseDevice(const JsonObject& object,
                                         Cluster& cluster) {
  if (object.Has("device")) {
    return internal::ParseDevice(object["device"], "device");
  }
  // Hosts state their own devices.
  if (!object.Has("master")) return DeviceModel();
  cluster.warnings.push_back(
      absl::StrCat("no \"device\" given; taken to be ", kTepdistKind));
  return internal::DeviceOf(*FindDeviceKind(kTepdistKind));
}

// Of a key that an object has twice, JSON keeps one and drops the other.
absl::StatusOr<Json> ParseJson(absl::string_view text) {
  std::vector<std::set<std::string>> open;  // Keys of the objects around.
  std::optional<std::string> twice;
  const auto note = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event != Json::parse_event_t::key || twice.has_value()) return true;
    const auto key = value.get<std::string>();
    if (!open.back().insert(key).second) twice = key;
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), note,
                          /*allow_exceptions=*/false);
  if (json.is_discarded()) return Bad(NotJson(text));
  if (!twice.has_value()) return json;
  return Bad("\"", absl::CHexEscape(*twice),
             "\" is given twice in one object; keep one");
}

// Splits "kind:4x8"; false if the text has another form.
bool SplitSpec(absl::string_view spec, std::string& kind, int64_t& hosts,
               int64_t& devices) {
  const std::vector<absl::string_view> halves = absl::StrSplit(spec, ':');
  if (halves.size() != 2 || halves[0].empty()) return false;
  for (const char c : halves[0]) {
    if (!absl::ascii_isalnum(c) && c != '-') return false;
  }
  kind = std::string(halves[0]);
  const std::vector<absl::string_view> sizes = absl::StrSplit(halves[1], 'x');
  hosts = 1;
  if (sizes.size() == 2 && !absl::SimpleAtoi(sizes[0], &hosts)) return false;
  return sizes.size() <= 2 && absl::SimpleAtoi(sizes.back(), &devices);
}

// Gives each device its share of the machine.
void Share(const Machine& machine, Cluster& cluster) {
  cluster.shared_host = true;
  cluster.cores = machine.cores;
  const double devices = static_cast<double>(cluster.device_count());
  const double part = static_cast<double>(machine.cores) / devices;
  for (const TflopsField& field : TflopsFields()) {
    cluster.device.tflops.*field.member *= part;
  }
  cluster.device.memory_gbps *= part;
  cluster.device.memory_bytes = machine.memory_bytes / cluster.device_count();
}

}  // namespace

absl::StatusOr<Cluster> ParseCluster(absl::string_view json) {
  MW_ASSIGN_OR_RETURN(const Json file, ParseJson(json));
  MW_ASSIGN_OR_RETURN(
      const JsonObject object,
      JsonObject::Create(file, "the cluster",
                         {"device", "hosts", "links", "shared_host", "cores",
                          "master", "workers", "slaves"}));
  if (object.Has("hosts") == object.Has("master")) {
    return Bad("needs \"hosts\", or \"master\" as TePDist has it");
  }
  Cluster cluster;
  MW_ASSIGN_OR_RETURN(cluster.device, ChooseDevice(object, cluster));
  if (object.Has("hosts")) {
    MW_RETURN_IF_ERROR(ReadHosts(object["hosts"], cluster));
  } else {
    MW_ASSIGN_OR_RETURN(cluster.hosts, ParseTepdistHosts(object));
  }
  MW_RETURN_IF_ERROR(object.Read("shared_host", cluster.shared_host));
  MW_RETURN_IF_ERROR(object.Read("cores", cluster.cores));
  MW_RETURN_IF_ERROR(CheckHosts(cluster));
  const Json links = object.Has("links") ? object["links"] : Json::object();
  MW_RETURN_IF_ERROR(internal::ReadLinks(links, cluster));
  MW_RETURN_IF_ERROR(Check(cluster));
  return cluster;
}

bool IsClusterSpec(absl::string_view text) {
  std::string kind;
  int64_t hosts = 0, devices = 0;
  return SplitSpec(text, kind, hosts, devices);
}

absl::StatusOr<Cluster> ParseClusterSpec(absl::string_view spec,
                                         const Machine& machine) {
  std::string name;
  int64_t hosts = 0, devices = 0;
  if (!SplitSpec(spec, name, hosts, devices)) {
    return Bad("'", spec, "' is no cluster; write KIND:DEVICES or ",
               "KIND:HOSTSxDEVICES, such as cpu:8 or h200:4x8");
  }
  MW_ASSIGN_OR_RETURN(const DeviceKind* kind, internal::KindNamed(name));
  if (devices < 1) {
    return Bad("'", spec, "' has ", devices, " devices; there are 1 to 2^20");
  }
  if (hosts < 1 || hosts > kMaxHosts) {
    return Bad("'", spec, "' has ", hosts, " hosts; there are 1 to 2^20");
  }
  Cluster cluster;
  cluster.device = internal::DeviceOf(*kind);
  cluster.hosts.resize(static_cast<size_t>(hosts));
  for (Host& host : cluster.hosts) host.devices = devices;
  MW_RETURN_IF_ERROR(Annotate(CheckHosts(cluster), spec));
  if (name == "cpu") {
    if (hosts != 1) {
      return Bad("'", spec, "': virtual devices are on this machine alone; ",
                 "write cpu:", devices);
    }
    Share(machine, cluster);
  }
  MW_RETURN_IF_ERROR(internal::ReadLinks(Json::object(), cluster));
  MW_RETURN_IF_ERROR(Check(cluster));
  return cluster;
}

std::string ToJson(const Cluster& cluster) {
  Json file;
  file["device"] = internal::WriteDevice(cluster.device);
  file["hosts"] = Json::array();
  for (const Host& host : cluster.hosts) {
    Json row = Json::object();
    if (!host.address.empty()) row["address"] = host.address;
    row["devices"] = host.devices;
    if (!host.local_ids.empty()) row["devices"] = host.local_ids;
    if (!cluster.models.empty()) {
      row["device"] = internal::WriteDevice(cluster.ModelOf(host));
    }
    if (host.link_speed != 1) row["link_speed"] = host.link_speed;
    file["hosts"].push_back(row);
  }
  file["links"] = internal::WriteLinks(cluster);
  if (cluster.shared_host) {
    file["shared_host"] = true;
    file["cores"] = cluster.cores;
  }
  return file.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace meshwright
