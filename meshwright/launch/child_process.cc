#include "meshwright/launch/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/launch/spawn.h"

namespace meshwright {
namespace {

constexpr absl::Duration kLastGrace = absl::Milliseconds(500);

// Notifies that some child has ended; one for all children, so that a caller
// can wait for any.
struct Ends {
  std::mutex lock;
  std::condition_variable changed;
  int64_t count = 0;
};
Ends& AllEnds() {
  static auto* const ends = new Ends();
  return *ends;
}

// Waits until `done()` or the timeout; returns the last result of done().
template <typename Done>
bool Await(std::unique_lock<std::mutex>& lock, absl::Duration timeout,
           const Done& done) {
  Ends& ends = AllEnds();
  if (timeout == absl::InfiniteDuration()) {
    ends.changed.wait(lock, done);
    return true;
  }
  return ends.changed.wait_for(lock, absl::ToChronoNanoseconds(timeout), done);
}

absl::Status Failed(absl::string_view what) {
  const int error = errno;
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(what, ": ", std::strerror(error)));
}

// A file descriptor that is closed unless it is released.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status MakePipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Failed("a pipe");
  read_end = Fd(ends[0]);
  write_end = Fd(ends[1]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    ChildOptions options) {
  Fd stdin_read, stdin_write, output_read, output_write;
  if (options.hold_stdin) {
    MW_RETURN_IF_ERROR(MakePipe(stdin_read, stdin_write));
  }
  const bool to_log = options.on_line == nullptr && !options.log_path.empty();
  if (to_log) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    output_write = Fd(::open(options.log_path.c_str(), flags, 0666));
    if (output_write.get() < 0) return Failed(options.log_path);
  } else {
    MW_RETURN_IF_ERROR(MakePipe(output_read, output_write));
  }
  MW_ASSIGN_OR_RETURN(
      const pid_t pid,
      Spawn({.argv = std::move(options.argv),
             .environment = std::move(options.environment),
             .stdin_fd = stdin_read.get(),
             .stdout_fd = output_write.get(),
             .stderr_fd = output_write.get(),
             .death_signal = options.ends_with_stdin ? 0 : SIGKILL}));
  std::unique_ptr<ChildProcess> child(
      new ChildProcess(pid, options.name, stdin_write.release()));
  if (!to_log) {
    if (options.on_line == nullptr) {
      options.on_line = [name = options.name](absl::string_view line) {
        PrintLineOf(name, line);
      };
    }
    child->relay_ = std::make_unique<LineRelay>(output_read.release(),
                                                std::move(options.on_line));
  }
  child->waiter_ = std::thread([child = child.get()] { child->Reap(); });
  return child;
}

ChildProcess::ChildProcess(pid_t pid, std::string name, int stdin_end)
    : pid_(pid), name_(std::move(name)), stdin_end_(stdin_end) {}

ChildProcess::~ChildProcess() {
  if (stdin_end_ >= 0) ::close(stdin_end_);
  Terminate(kLastGrace);
  waiter_.join();
}

// Runs on its own thread.
void ChildProcess::Reap() {
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) !=
             0 &&
         errno == EINTR) {
  }
  // Not reaped yet, so its process group id cannot have been reused.
  ::kill(-pid_, SIGKILL);
  if (relay_ != nullptr) relay_->Finish();
  const std::lock_guard mine(lock_);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  {
    const std::lock_guard all(AllEnds().lock);
    status_ = ExitStatus::FromWait(status);
    end_order_ = AllEnds().count++;
  }
  AllEnds().changed.notify_all();
}

std::optional<ExitStatus> ChildProcess::Wait(absl::Duration timeout) {
  std::unique_lock all(AllEnds().lock);
  Await(all, timeout, [&] { return status_.has_value(); });
  return status_;
}

void ChildProcess::Signal(int number) {
  const std::lock_guard mine(lock_);
  if (!status_.has_value()) ::kill(-pid_, number);
}

ExitStatus ChildProcess::Terminate(absl::Duration grace) {
  Signal(SIGTERM);
  if (const std::optional<ExitStatus> status = Wait(grace)) return *status;
  Signal(SIGKILL);
  return *Wait(absl::InfiniteDuration());
}

std::optional<size_t> ChildProcess::WaitForAny(
    absl::Span<const std::unique_ptr<ChildProcess>> children,
    absl::Duration timeout) {
  const auto ended = [](const std::unique_ptr<ChildProcess>& child) {
    return child->status_.has_value();
  };
  std::unique_lock all(AllEnds().lock);
  const auto found = [&] { return std::ranges::find_if(children, ended); };
  Await(all, timeout, [&] { return found() != children.end(); });
  const auto child = found();
  if (child == children.end()) return std::nullopt;
  return static_cast<size_t>(child - children.begin());
}

std::optional<size_t> ChildProcess::WaitForFailure(
    absl::Span<const std::unique_ptr<ChildProcess>> children) {
  std::optional<size_t> first;
  std::unique_lock all(AllEnds().lock);
  AllEnds().changed.wait(all, [&] {
    size_t ended = 0;
    for (size_t i = 0; i < children.size(); ++i) {
      const ChildProcess& child = *children[i];
      if (!child.status_.has_value()) continue;
      ++ended;
      if (!child.status_->ok() &&
          (!first || child.end_order_ < children[*first]->end_order_)) {
        first = i;
      }
    }
    return first.has_value() || ended == children.size();
  });
  return first;
}

void TerminateAll(absl::Span<ChildProcess* const> children,
                  absl::Duration grace) {
  for (ChildProcess* const child : children) child->Signal(SIGTERM);
  const absl::Time deadline = SteadyNow() + grace;
  for (ChildProcess* const child : children) {
    const absl::Duration left =
        std::max(absl::ZeroDuration(), deadline - SteadyNow());
    if (!child->Wait(left).has_value()) child->Signal(SIGKILL);
  }
  for (ChildProcess* const child : children) {
    child->Wait(absl::InfiniteDuration());
  }
}

absl::StatusOr<std::string> ProgramPath() {
  std::error_code error;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("/proc/self/exe: ", error.message()));
  }
  if (absl::EndsWith(path, " (deleted)")) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": the running program's file was replaced; start it again"));
  }
  return path;
}

}  // namespace meshwright
