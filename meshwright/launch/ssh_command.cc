#include "meshwright/launch/ssh_command.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/annotate.h"
#include "meshwright/launch/host_port.h"

namespace meshwright {
namespace {

// Keeps the program's stdin apart from ours: the end of ours is the request to
// end the program.
constexpr char kRunHere[] =
    "exec 3<&0; $PROGRAM 3<&- </dev/null & p=$!; "
    "{ cat <&3; kill -TERM $p; sleep 30; kill -KILL $p; } >/dev/null 2>&1 & "
    "w=$!; wait $p; s=$?; kill $w 2>/dev/null; exit $s";

}  // namespace

std::string ShellQuoted(absl::string_view word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("-_./:,=@%+", c);
  });
  if (is_plain) return std::string(word);
  return absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

std::vector<std::string> SshCommand(const SshOptions& options) {
  std::vector<std::string> words;
  if (!options.environment.empty()) {
    words.push_back("env");
    for (const auto& [name, value] : options.environment) {
      words.push_back(ShellQuoted(absl::StrCat(name, "=", value)));
    }
  }
  for (const std::string& word : options.argv) {
    words.push_back(ShellQuoted(word));
  }
  const std::string script =
      absl::StrReplaceAll(kRunHere, {{"$PROGRAM", absl::StrJoin(words, " ")}});
  std::vector<std::string> command = options.ssh;
  for (const char* option :
       {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
        "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "--"}) {
    command.push_back(option);
  }
  command.push_back(options.host);
  // Independent of the login shell.
  command.push_back(absl::StrCat("exec sh -c ", ShellQuoted(script)));
  return command;
}

absl::StatusOr<std::vector<std::string>> SshHosts(const Cluster& cluster) {
  std::vector<std::string> hosts;
  for (size_t i = 0; i < cluster.hosts.size(); ++i) {
    const std::string& address = cluster.hosts[i].address;
    if (address.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("hosts[", i, "] has no \"address\", which ssh needs"));
    }
    const absl::StatusOr<HostPort> parsed =
        ParseHostPort(address, kCoordinatorPort);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), absl::StrCat("hosts[", i, "]"));
    }
    hosts.push_back(parsed->host);
  }
  return hosts;
}

}  // namespace meshwright
