// meshwright devices: the available plug-ins, and their devices, memory and
// versions.
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/solve/mip.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& DevicesSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "devices",
      .summary = "the plug-ins found, their devices, memory and versions",
      .positional = {},
      .flags = {{"cpu-devices", "N", "virtual devices of the CPU (default 1)"},
                {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

Json DescribeDevice(const Device& device) {
  Json json = {{"id", device.id()},
               {"kind", device.kind()},
               {"description", device.info().description}};
  const auto memory = device.Memory();
  if (memory.ok() && memory->limit_bytes.has_value()) {
    json["memory_bytes"] = *memory->limit_bytes;
  }
  return json;
}

absl::Status Describe(const PluginFile& file, int cpu_devices, Json* json) {
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  (*json)["pjrt_api"] = plugin->api_version();
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client,
                      plugin->CreateClient({.cpu_devices = cpu_devices}));
  (*json)["platform"] = client->platform_name();
  (*json)["version"] = client->platform_version();
  for (const Device* device : client->devices()) {
    (*json)["devices"].push_back(DescribeDevice(*device));
  }
  return absl::OkStatus();
}

void Print(const Json& plugin) {
  absl::PrintF("%s  %s\n", plugin["name"].get<std::string>(),
               plugin["path"].get<std::string>());
  if (plugin.contains("error")) {
    absl::PrintF("  does not work: %s\n", plugin["error"].get<std::string>());
    return;
  }
  absl::PrintF("  platform %s, PJRT %s, %s\n",
               plugin["platform"].get<std::string>(),
               plugin["pjrt_api"].get<std::string>(),
               plugin["version"].get<std::string>());
  for (const Json& device : plugin["devices"]) {
    absl::PrintF("  device %d  %s", device["id"].get<int>(),
                 device["kind"].get<std::string>());
    if (device.contains("memory_bytes")) {
      absl::PrintF(", %s", FormatBytes(device["memory_bytes"].get<int64_t>()));
    }
    absl::PrintF("\n");
  }
}

absl::Status RunDevices(const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const int64_t cpu_devices,
                      line.Integer("cpu-devices", 1, {1, 1024}));
  Json report = {{"plugins", Json::array()}};
  bool any_works = false;
  for (const PluginFile& file : FindPlugins(PluginSearch::OfThisProcess())) {
    Json plugin = {{"name", file.name}, {"path", file.path}};
    const absl::Status status =
        Describe(file, static_cast<int>(cpu_devices), &plugin);
    if (!status.ok()) plugin["error"] = std::string(status.message());
    any_works |= status.ok();
    report["plugins"].push_back(plugin);
  }
  // Planning works without it, with larger gaps.
  const auto solver = DescribeMipSolver();
  report["solver"] =
      solver.ok() ? Json{{"name", *solver}}
                  : Json{{"error", std::string(solver.status().message())}};
  if (line.Has("json")) {
    absl::PrintF("%s\n", report.dump(2));
  } else {
    for (const Json& plugin : report["plugins"]) Print(plugin);
    absl::PrintF("solver %s\n", solver.ok()
                                    ? *solver
                                    : std::string(solver.status().message()));
  }
  if (any_works) return absl::OkStatus();
  // The message of the search says where it looked.
  const auto first = FindPlugin("");
  return first.ok() ? absl::FailedPreconditionError("no plug-in works")
                    : first.status();
}

}  // namespace

extern const Command kDevicesCommand = {&DevicesSpec, &RunDevices};

}  // namespace meshwright
