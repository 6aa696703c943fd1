// How a process ended, in words.
//
//   ExitStatus::FromWait(status).ToString();
//       // "exit code 2", "exit code 134 (SIGABRT)", "killed by signal 9
//       (SIGKILL)"
#ifndef MESHWRIGHT_LAUNCH_EXIT_STATUS_H_
#define MESHWRIGHT_LAUNCH_EXIT_STATUS_H_

#include <string>

namespace meshwright {

struct ExitStatus {
  int code = 0;    // Of a process that ended by itself.
  int signal = 0;  // That killed it, or 0.

  // From what waitpid gives.
  static ExitStatus FromWait(int status);

  bool ok() const { return code == 0 && signal == 0; }
  // As shells count: 128 + signal.
  int ShellCode() const { return signal != 0 ? 128 + signal : code; }
  std::string ToString() const;

  bool operator==(const ExitStatus&) const = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_EXIT_STATUS_H_
