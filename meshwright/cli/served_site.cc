#include "meshwright/cli/served_site.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/api/load_plan.h"
#include "meshwright/api/served_runner.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/security_flags.h"
#include "meshwright/plan/plan.h"
#include "meshwright/service/job_client.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

// Flags for what the coordinator decides, or for which the devices must be
// local.
constexpr const char* kNotThere[] = {
    "sharding", "mesh",    "rules",    "require-rules", "stages", "workers",
    "trace",    "metrics", "platform", "ffi",           "cache"};

// The list of that name; empty if there is none.
Json ListIn(const std::string& text, const char* name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains(name)) return Json::array();
  return json[name];
}

std::string TextIn(const Json& json, const char* name) {
  const bool is_text =
      json.is_object() && json.contains(name) && json[name].is_string();
  return is_text ? json[name].get<std::string>() : std::string();
}

}  // namespace

std::vector<FlagSpec> ServedSite::Flags() {
  std::vector<FlagSpec> flags = {
      {"serve-at", "HOST:PORT",
       "on the workers of this coordinator (meshwright serve)"},
      {"replace", "", "with --serve-at: stop the job that is loaded there"}};
  for (FlagSpec& flag : SecurityFlags()) flags.push_back(std::move(flag));
  return flags;
}

absl::StatusOr<std::unique_ptr<ServedSite>> ServedSite::Connect(
    const CommandLine& line) {
  for (const char* flag : kNotThere) {
    MW_RETURN_IF_ERROR(line.CheckNotBoth("serve-at", flag));
  }
  MW_ASSIGN_OR_RETURN(Security security, ReadSecurity(line));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<JobService> jobs,
                      ConnectJobs({.address = line.Text("serve-at", ""),
                                   .security = std::move(security)}));
  return std::unique_ptr<ServedSite>(new ServedSite(std::move(jobs)));
}

absl::Status ServedSite::StopJobs() {
  MW_ASSIGN_OR_RETURN(const std::string text, jobs_->Describe(call_));
  for (const Json& job : ListIn(text, "jobs")) {
    if (!job.is_object() || !job.contains("job") ||
        !job["job"].is_number_integer()) {
      continue;
    }
    MW_RETURN_IF_ERROR(jobs_->Stop(job["job"].get<int64_t>()));
  }
  return absl::OkStatus();
}

absl::Status ServedSite::Describe() {
  MW_ASSIGN_OR_RETURN(const std::string text, jobs_->Describe(call_));
  for (const Json& worker : ListIn(text, "workers")) {
    if (TextIn(worker, "state") == "lost") continue;
    ++workers_;
    platform_ = TextIn(worker, "platform");
    device_kind_ = TextIn(worker, "device_kind");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Runner>> ServedSite::Load(
    const Module& module, const CommandLine& line) {
  if (line.Has("replace")) MW_RETURN_IF_ERROR(StopJobs());
  MW_ASSIGN_OR_RETURN(std::string bytes, ReadFile(line.positional(0)));
  std::string plan;
  if (line.Has("plan")) {
    MW_ASSIGN_OR_RETURN(plan, ReadFile(line.Text("plan", "")));
    MW_ASSIGN_OR_RETURN(const Plan parsed, LoadPlan(line.Text("plan", "")));
    devices_ = parsed.device_count();
  } else {
    MW_ASSIGN_OR_RETURN(
        plan,
        jobs_->Plan({.module = bytes, .cluster = "", .options = "{}"}, call_));
    MW_ASSIGN_OR_RETURN(const Plan parsed, ParsePlan(plan));
    devices_ = parsed.device_count();
  }
  MW_ASSIGN_OR_RETURN(std::unique_ptr<Runner> runner,
                      ServedRunner::Load(jobs_.get(), &call_, module,
                                         {.module = std::move(bytes),
                                          .plan = std::move(plan)}));
  MW_RETURN_IF_ERROR(Describe());
  return runner;
}

}  // namespace meshwright
