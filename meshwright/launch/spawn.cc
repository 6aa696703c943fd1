#include "meshwright/launch/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Runs functions one after another on a thread that never ends.
class ForkingThread {
 public:
  static ForkingThread& Get() {
    static auto* const thread = new ForkingThread();
    return *thread;
  }

  void Run(const std::function<void()>& work) {
    const std::lock_guard one_caller(callers_);
    std::unique_lock lock(lock_);
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [&] { return work_ == nullptr; });
  }

 private:
  ForkingThread() {
    std::thread([this] { Loop(); }).detach();
  }

  void Loop() {
    std::unique_lock lock(lock_);
    while (true) {
      changed_.wait(lock, [&] { return work_ != nullptr; });
      (*work_)();
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex callers_;
  std::mutex lock_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
};

// This process's variables, with those of `added` replacing them or appended.
std::vector<std::string> MergedEnvironment(
    const std::map<std::string, std::string>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) merged.push_back(text);
  }
  for (const auto& [name, value] : added) {
    merged.push_back(absl::StrCat(name, "=", value));
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Everything that the child needs, prepared before the fork: afterwards,
// nothing may allocate or lock.
struct Prepared {
  std::vector<char*> argv;
  std::vector<char*> envp;
  int fds[3];
  int error_fd;  // Receives errno if the program cannot be run.
  int death_signal;
  pid_t parent;
};

void ResetSignals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child.
[[noreturn]] void Become(const Prepared& child) {
  prctl(PR_SET_PDEATHSIG, child.death_signal);
  // The parent ended before prctl.
  if (::getppid() != child.parent) _exit(127);
  ::setpgid(0, 0);
  ResetSignals();
  // Above 0 to 2, which are replaced next.
  const int error_fd = ::fcntl(child.error_fd, F_DUPFD_CLOEXEC, 3);
  int fds[3];
  for (int i = 0; i < 3; ++i) fds[i] = ::fcntl(child.fds[i], F_DUPFD, 3);
  for (int i = 0; i < 3; ++i) ::dup2(fds[i], i);
  // Descriptors that libraries opened without O_CLOEXEC. Older kernels do not
  // have this system call; the program then inherits them.
  constexpr unsigned kCloseRangeCloexec = 4;
  ::syscall(SYS_close_range, 3u, ~0u, kCloseRangeCloexec);
  for (const int fd : fds) ::close(fd);
  ::execvpe(child.argv[0], child.argv.data(), child.envp.data());
  const int error = errno;
  if (::write(error_fd, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string line =
      absl::StrCat("cannot run ", program, ": ", std::strerror(error));
  return absl::Status(absl::ErrnoToStatusCode(error), line);
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnRequest& request) {
  MW_CHECK(!request.argv.empty()) << "nothing to run";
  std::vector<std::string> argv = request.argv;
  std::vector<std::string> environment = MergedEnvironment(request.environment);
  int ends[2];
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    const int error = errno;
    if (null >= 0) ::close(null);
    return CannotRun(argv[0], error);
  }
  const auto or_null = [&](int fd) { return fd < 0 ? null : fd; };
  const Prepared child = {
      .argv = Pointers(argv),
      .envp = Pointers(environment),
      .fds = {or_null(request.stdin_fd), or_null(request.stdout_fd),
              or_null(request.stderr_fd)},
      .error_fd = ends[1],
      .death_signal = request.death_signal,
      .parent = ::getpid()};
  pid_t pid = -1;
  int error = 0;
  ForkingThread::Get().Run([&] {
    pid = ::fork();
    if (pid == 0) Become(child);
    error = errno;
  });
  ::close(null);
  ::close(ends[1]);
  if (pid > 0) {
    ::setpgid(pid, pid);  // Parent and child both do this, whichever is first.
    error = 0;
    ssize_t got = 0;
    do {
      got = ::read(ends[0], &error, sizeof(error));
    } while (got < 0 && errno == EINTR);
    if (got == sizeof(error)) {
      ::waitpid(pid, nullptr, 0);
      pid = -1;
    }
  }
  ::close(ends[0]);
  if (pid < 0) return CannotRun(argv[0], error);
  return pid;
}

}  // namespace meshwright
