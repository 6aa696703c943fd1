// meshwright profile: measures the rates of the local devices once and stores
// them.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "meshwright/api/device_client.h"
#include "meshwright/api/load_cluster.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/commands.h"
#include "meshwright/cli/measure_rates.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/profile/calibrate.h"
#include "meshwright/profile/database.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

const CommandSpec& ProfileSpec() {
  static const auto* const spec = new CommandSpec{
      .name = "profile",
      .summary = "measure what devices and links achieve, or show it",
      .flags = {
          {"calibrate", "", "measure; else show what was measured"},
          {"devices", "N", "virtual devices of the CPU (default 8)"},
          {"platform", "NAME", "cpu, cuda, tpu (default: cpu)"},
          {"seconds", "S", "to spend on measuring (default 45)"},
          {"cpu-time", "",
           "count processor time, not the clock: others use the machine too"},
          {"database", "PATH",
           "SQLite file (default: meshwright/profile.db in the user's cache)"},
          {"json", "", "one JSON object on stdout"}}};
  return *spec;
}

absl::StatusOr<double> ProfileSeconds(const CommandLine& line) {
  const std::string text = line.Text("seconds", "45");
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds > 0 && seconds <= 3600)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seconds: \"", text,
                     "\" is no number of seconds above 0, at most 3600"));
  }
  return seconds;
}

// The local devices, as a cluster for the planner.
absl::StatusOr<Cluster> ClusterOf(const Client& client) {
  const Machine machine{
      .cores = std::max<int64_t>(1, std::thread::hardware_concurrency()),
      .memory_bytes =
          int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE)};
  const std::string name = client.devices()[0]->kind();
  const std::string kind =
      client.platform_name() == "cpu" ? "cpu" : KindOf(name);
  if (kind.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("device \"", name, "\" is of no known kind; known are ",
                     absl::StrJoin(KnownDeviceKinds(), ", ")));
  }
  return ParseClusterSpec(absl::StrCat(kind, ":", client.devices().size()),
                          machine);
}

Json ToJson(const ProfileEntry& entry) {
  return {{"device", entry.key.device},
          {"devices", entry.key.devices},
          {"cores", entry.key.cores},
          {"measured", entry.measured},
          {"platform", entry.platform},
          {"rates", Json::parse(ToJson(entry.rates))}};
}

Json ToJson(const std::vector<Sample>& samples) {
  Json json = Json::array();
  for (const Sample& sample : samples) {
    json.push_back({{"what", sample.what},
                    {"size", sample.size},
                    {"group", sample.group},
                    {"seconds", sample.seconds}});
  }
  return json;
}

absl::Status CalibrateHere(const CommandLine& line, const std::string& path) {
  MW_ASSIGN_OR_RETURN(const int64_t devices,
                      line.Integer("devices", 8, {1, 4096}));
  MW_ASSIGN_OR_RETURN(const double seconds, ProfileSeconds(line));
  // Checked first, so that the measurements are not lost if the path cannot be
  // written.
  MW_RETURN_IF_ERROR(ProfileDatabase::CheckStorable(path));
  MW_ASSIGN_OR_RETURN(
      const std::unique_ptr<Client> client,
      MakeClient(line.Text("platform", "cpu"), static_cast<int>(devices)));
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ClusterOf(*client));
  const Stopwatch watch;
  MW_ASSIGN_OR_RETURN(
      const Measured made,
      Measure(*client, cluster,
              {.seconds = seconds, .cpu_time = line.Has("cpu-time")}));
  const ProfileEntry& entry = made.entry;
  MW_ASSIGN_OR_RETURN(const auto database, ProfileDatabase::Open(path));
  MW_RETURN_IF_ERROR(database->Store(entry, made.samples));
  if (line.Has("json")) {
    Json json = ToJson(entry);
    json["database"] = path;
    json["seconds"] = watch.seconds();
    json["samples"] = ToJson(made.samples);
    absl::PrintF("%s\n", json.dump(2));
  } else {
    absl::PrintF("%smeasured in %s, kept in %s\n", entry.rates.ToString(),
                 FormatSeconds(watch.seconds()), path);
  }
  return absl::OkStatus();
}

absl::Status Show(const CommandLine& line, const std::string& path) {
  std::vector<ProfileEntry> entries;
  if (line.Has("database")) MW_RETURN_IF_ERROR(CheckDatabase(path));
  auto database = ProfileDatabase::Open(path, /*read_only=*/true);
  if (database.ok()) {
    MW_ASSIGN_OR_RETURN(entries, (*database)->Entries());
  } else if (!absl::IsNotFound(database.status())) {
    return database.status();
  }
  if (line.Has("json")) {
    Json json = {{"database", path}, {"entries", Json::array()}};
    for (const ProfileEntry& entry : entries) {
      json["entries"].push_back(ToJson(entry));
    }
    absl::PrintF("%s\n", json.dump(2));
    return absl::OkStatus();
  }
  for (const ProfileEntry& entry : entries) {
    absl::PrintF("%s  measured %s with %s\n\n", entry.rates.ToString(),
                 entry.measured, entry.platform);
  }
  if (entries.empty()) {
    absl::PrintF(
        "nothing measured yet; `meshwright profile --calibrate` does. Known "
        "without: %s\n",
        absl::StrJoin(KnownDeviceKinds(), ", "));
  }
  return absl::OkStatus();
}

absl::Status RunProfile(const CommandLine& line) {
  const std::string path = line.Text("database", DefaultProfilePath());
  if (line.Has("calibrate")) return CalibrateHere(line, path);
  for (const char* flag : {"devices", "platform", "seconds", "cpu-time"}) {
    if (line.Has(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " goes with --calibrate"));
    }
  }
  return Show(line, path);
}

}  // namespace

extern const Command kProfileCommand = {&ProfileSpec, &RunProfile};

}  // namespace meshwright
