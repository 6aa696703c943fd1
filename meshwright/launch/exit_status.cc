#include "meshwright/launch/exit_status.h"

#include <sys/wait.h>

#include <csignal>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// " (SIGKILL)"; empty for unusual signals.
std::string SignalName(int signal) {
  struct Named {
    int number;
    const char* name;
  };
  constexpr Named kNames[] = {
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
      {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
      {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
      {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
      {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
      {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
  for (const Named& named : kNames) {
    if (named.number == signal) return absl::StrCat(" (", named.name, ")");
  }
  return "";
}

}  // namespace

ExitStatus ExitStatus::FromWait(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

std::string ExitStatus::ToString() const {
  if (signal != 0) {
    return absl::StrCat("killed by signal ", signal, SignalName(signal),
                        signal == SIGKILL
                            ? ", as the system does when memory is exhausted"
                            : "");
  }
  return absl::StrCat("exit code ", code,
                      code > 128 ? SignalName(code - 128) : "");
}

}  // namespace meshwright
