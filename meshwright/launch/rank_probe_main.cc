// Prints the results of DiscoverRank and RoleOf for this process as JSON, for
// tests that run it under real launchers; with an argument, after that many
// seconds.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "meshwright/launch/join_role.h"
#include "meshwright/launch/rank_discovery.h"

namespace meshwright {
namespace {

nlohmann::ordered_json Describe() {
  const absl::StatusOr<std::optional<Discovered>> found =
      DiscoverRank(ProcessEnvironment());
  if (!found.ok()) return {{"error", found.status().message()}};
  if (!found->has_value()) return nullptr;
  const Discovered& rank = **found;
  nlohmann::ordered_json json = {
      {"source", rank.source},           {"rank", rank.rank},
      {"world_size", rank.world_size},   {"local_rank", rank.local_rank},
      {"coordinator", rank.coordinator}, {"text", rank.ToString()}};
  const absl::StatusOr<JoinRole> role = RoleOf(rank);
  if (!role.ok()) {
    json["role_error"] = role.status().message();
  } else {
    json["runs_coordinator"] = role->runs_coordinator;
    json["listen"] = role->listen;
    json["join"] = role->join;
  }
  return json;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  int seconds = 0;
  if (argc > 1 && absl::SimpleAtoi(argv[1], &seconds)) {
    absl::SleepFor(absl::Seconds(seconds));
  }
  std::printf("%s\n", meshwright::Describe().dump().c_str());
  return 0;
}
