#include "meshwright/cli/serving.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "meshwright/base/standard_output.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/units.h"
#include "meshwright/cli/security_flags.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {
namespace {

// How many lost workers are remembered until the next job.
constexpr size_t kLostKept = 16;
// Time for workers to leave after they were told to.
constexpr absl::Duration kFarewell = absl::Seconds(3);
// When the process that started this one has ended: until it is known whether
// it was a worker, and until clients have been told.
constexpr absl::Duration kNotice = absl::Seconds(1);
constexpr absl::Duration kLastWords = absl::Seconds(5);

// Without ports.
std::vector<std::string> HostsOf(const std::optional<Cluster>& cluster) {
  std::vector<std::string> names;
  if (!cluster.has_value()) return names;
  for (const Host& host : cluster->hosts) {
    const auto address = ParseHostPort(host.address, kCoordinatorPort);
    names.push_back(address.ok() ? address->host : "");
  }
  return names;
}

}  // namespace

void SayLine(absl::string_view line) {
  absl::PrintF("%s\n", line);
  // Write errors are reported at the end.
  std::fflush(stdout);
}

std::vector<FlagSpec> ServingFlags() {
  return {{"listen", "HOST:PORT",
           "where workers and clients connect (default 127.0.0.1:7777)"},
          {"metrics-port", "P",
           "answer GET /metrics for Prometheus on this port, on 127.0.0.1"},
          {"metrics-listen", "HOST:PORT",
           "the same for other machines, with the certificate and the token"},
          {"metrics", "FILE", "write a line of JSON per step here; appended",
           FileUse::kWritten},
          {"step-timeout", "S",
           "a step that takes longer is taken for hung (default 600)"}};
}

absl::StatusOr<ServingOptions> ServingOptionsOf(const CommandLine& line) {
  ServingOptions options{.listen = line.Text("listen", "127.0.0.1:7777"),
                         .metrics_file = line.Text("metrics", "")};
  MW_ASSIGN_OR_RETURN(options.security, ReadSecurity(line));
  if (line.Has("metrics-port")) {
    MW_ASSIGN_OR_RETURN(const int64_t port,
                        line.Integer("metrics-port", 0, {0, 65535}));
    options.metrics = {.address = {"127.0.0.1", static_cast<int>(port)}};
  }
  if (line.Has("metrics-listen")) {
    if (line.Has("metrics-port")) {
      return absl::InvalidArgumentError(
          "--metrics-port P is --metrics-listen 127.0.0.1:P without TLS and "
          "token; give one of them");
    }
    MW_ASSIGN_OR_RETURN(const HostPort address,
                        ParseAddress(line.Text("metrics-listen", "")));
    options.metrics = {.address = address, .security = options.security};
    MW_RETURN_IF_ERROR(CheckListen(address.ToString(), options.security));
  }
  MW_ASSIGN_OR_RETURN(
      const int64_t patience,
      line.Integer("step-timeout", absl::ToInt64Seconds(options.limits.step),
                   {1, 7 * 86400}));
  options.limits.step = absl::Seconds(patience);
  return options;
}

Serving::Serving(const ServingOptions& options)
    : expected_(options.workers),
      coordinator_(std::make_unique<Coordinator>(Coordinator::Options{
          .limits = options.limits,
          .obituary = options.obituary,
          .hosts = HostsOf(options.cluster)})) {}

absl::StatusOr<std::unique_ptr<Serving>> Serving::Start(
    const ServingOptions& options) {
  std::unique_ptr<Serving> serving(new Serving(options));
  Serving* const self = serving.get();
  if (!options.metrics_file.empty()) {
    MW_ASSIGN_OR_RETURN(self->metrics_file_,
                        LineFile::Open(options.metrics_file));
  }
  if (options.own_devices) self->coordinator_->EndWorkers();
  ServedJobs::Options jobs{
      .coordinator = options.own_devices ? nullptr : self->coordinator_.get(),
      .cache = options.cache,
      .cluster = options.cluster,
      .workers = options.workers};
  if (self->metrics_file_ != nullptr) {
    jobs.on_line = [file = self->metrics_file_.get()](const std::string& one) {
      file->Append(one);
    };
  }
  self->jobs_ = std::make_unique<ServedJobs>(std::move(jobs));
  MW_ASSIGN_OR_RETURN(
      self->server_,
      WorkerServer::Start({.address = options.listen,
                           .security = options.security,
                           .on_join =
                               [self](std::unique_ptr<WorkerLink> link) {
                                 self->coordinator_->Admit(std::move(link));
                               },
                           .store = &self->store_,
                           .jobs = self->jobs_.get(),
                           .memory = options.memory}));
  if (options.step_socket.has_value()) {
    MW_ASSIGN_OR_RETURN(
        self->step_socket_,
        StepSocket::Start({.fd = *options.step_socket,
                           .jobs = self->jobs_.get(),
                           .memory = options.memory,
                           .on_malformed = [](const absl::Status& why) {
                             absl::FPrintF(stderr,
                                           "the step socket is closed: %s\n",
                                           why.message());
                           }}));
  }
  std::string metrics;
  if (options.metrics.has_value()) {
    MetricsServerOptions scraped = *options.metrics;
    scraped.text = [self] { return self->jobs_->MetricsText(); };
    MW_ASSIGN_OR_RETURN(self->metrics_,
                        MetricsServer::Start(std::move(scraped)));
    metrics = absl::StrCat("; metrics at ", self->metrics_->url());
  }
  MW_ASSIGN_OR_RETURN(HostPort address, ParseAddress(options.listen));
  address.port = self->port();
  SayLine(absl::StrCat(
      "serving on ", address.ToString(), "; ",
      options.own_devices ? "this machine's devices" : self->Count(),
      options.memory != nullptr ? "; shared memory" : "", metrics));
  return serving;
}

Serving::~Serving() {
  if (jobs_ != nullptr) jobs_->Shutdown();
  coordinator_->EndWorkers();
  const absl::Time end = SteadyNow() + kFarewell;
  while (living() > 0 && SteadyNow() < end) {
    absl::SleepFor(absl::Milliseconds(20));
  }
  metrics_ = nullptr;
  step_socket_ = nullptr;
  server_ = nullptr;
  // Nobody waits for the plan any more, and nothing else remains to be done.
  if (jobs_ != nullptr && jobs_->is_planning()) {
    EndProcess(FlushStandardOutput().ok() ? 0 : 1);
  }
  jobs_ = nullptr;
}

int64_t Serving::living() const {
  int64_t count = 0;
  for (const auto& worker : coordinator_->workers()) {
    if (worker->health().ok()) ++count;
  }
  return count;
}

bool Serving::has_lost() const {
  return std::ranges::any_of(coordinator_->workers(), [](const auto& worker) {
    return !worker->health().ok();
  });
}

void Serving::EndAfterStarter(const EndRequest& end) {
  const absl::Time begin = SteadyNow();
  while (jobs_->has_job() && end.signal() == 0) {
    const absl::Duration passed = SteadyNow() - begin;
    if (passed > kLastWords || (passed > kNotice && !has_lost())) break;
    absl::SleepFor(absl::Milliseconds(20));
  }
  jobs_->Shutdown();
  coordinator_->EndWorkers(absl::UnavailableError(
      "the process that started the coordinator has ended"));
}

std::string Serving::Count() const {
  const int64_t count = std::ssize(present_);
  return expected_ == 0
             ? Counted(count, "worker")
             : absl::StrCat(count, " of ", Counted(expected_, "worker"));
}

void Serving::Look() {
  // Who is gone is counted out before others are counted in.
  for (auto one = present_.begin(); one != present_.end();) {
    const std::shared_ptr<RemoteWorker> worker = one->second;
    const absl::Status health = worker->health();
    if (health.ok()) {
      ++one;
      continue;
    }
    one = present_.erase(one);
    SayLine(absl::StrCat(worker->name(), " is gone: ", health.message(), "; ",
                         Count()));
  }
  for (const auto& worker : coordinator_->workers()) {
    if (worker->health().ok() &&
        present_.emplace(worker->serial(), worker).second) {
      SayLine(absl::StrCat(worker->name(), " has joined with ",
                           Counted(worker->hello().devices(), "device"), ", ",
                           worker->hello().device_kind(), "; ", Count()));
    }
  }
  coordinator_->ForgetLost(kLostKept);
}

absl::Status Serving::status() const {
  return metrics_file_ != nullptr ? metrics_file_->status() : absl::OkStatus();
}

}  // namespace meshwright
