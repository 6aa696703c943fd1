#include "meshwright/base/process_end.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/live_line.h"

namespace meshwright {
namespace {

// A disk or another process may block a writer.
constexpr auto kMostPatience = std::chrono::seconds(15);
// A terminal sends the signal first and then shows ^C.
constexpr auto kEchoTime = std::chrono::milliseconds(20);
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

// Guards `temporaries`, and is held while a file is incomplete.
std::timed_mutex& WholeLock() {
  static auto* const lock = new std::timed_mutex();
  return *lock;
}
std::set<std::string>& Temporaries() {
  static auto* const paths = new std::set<std::string>();
  return *paths;
}

bool ends_for_closed_pipe = false;

// Whether a caller waits for a signal, and which signal came.
struct Requests {
  std::mutex lock;
  std::condition_variable changed;
  bool are_wanted = false;
  int signal = 0;
};
Requests& GetRequests() {
  static auto* const requests = new Requests();
  return *requests;
}

// Whether a waiting caller was told of this signal as the first one.
bool IsTold(int number) {
  Requests& requests = GetRequests();
  const std::lock_guard lock(requests.lock);
  if (!requests.are_wanted || requests.signal != 0) return false;
  requests.signal = number;
  requests.changed.notify_all();
  return true;
}

// The lock stays held, so that no new file is started.
void RemoveTemporaries() {
  std::unique_lock lock(WholeLock(), kMostPatience);
  for (const std::string& path : Temporaries()) ::unlink(path.c_str());
  if (lock.owns_lock()) lock.release();
}

void Say(absl::string_view line) {
  // There may be no reader.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

[[noreturn]] void WaitForSignal(const sigset_t& signals) {
  int number = 0;
  while (sigwait(&signals, &number) != 0 || IsTold(number)) {
  }
  LiveLine::Get().Close();
  RemoveTemporaries();
  if (number == SIGINT) {
    if (::isatty(STDERR_FILENO) != 0) {
      std::this_thread::sleep_for(kEchoTime);
      Say("\r");  // Overwrites the ^C.
    }
    Say("meshwright: interrupted\n");
  }
  _exit(128 + number);
}

bool IsIgnored(int number) {
  struct sigaction action;
  return sigaction(number, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

// std::terminate: an uncaught exception.
[[noreturn]] void Terminated() {
  LiveLine::Get().Close();
  RemoveTemporaries();
  try {
    if (const std::exception_ptr error = std::current_exception()) {
      std::rethrow_exception(error);
    }
    Say("meshwright: internal error\n");
  } catch (const std::bad_alloc&) {
    Say("meshwright: there is not enough memory\n");
  } catch (const std::exception& error) {
    Say(absl::StrCat("meshwright: internal error: ", error.what(), "\n"));
  } catch (...) {
    Say("meshwright: internal error\n");
  }
  std::abort();
}

}  // namespace

void EndOnSignals() {
  std::set_terminate(Terminated);
  ends_for_closed_pipe = !IsIgnored(SIGPIPE);
  std::signal(SIGPIPE, SIG_IGN);  // Writers see EPIPE.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : kSignals) {
    if (!IsIgnored(number)) sigaddset(&signals, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] { WaitForSignal(signals); }).detach();
}

EndRequest::EndRequest() {
  const std::lock_guard lock(GetRequests().lock);
  GetRequests().are_wanted = true;
  GetRequests().signal = 0;
}

EndRequest::~EndRequest() {
  const std::lock_guard lock(GetRequests().lock);
  GetRequests().are_wanted = false;
}

int EndRequest::Wait(std::chrono::milliseconds timeout) const {
  Requests& requests = GetRequests();
  std::unique_lock lock(requests.lock);
  requests.changed.wait_for(lock, timeout,
                            [&] { return requests.signal != 0; });
  return requests.signal;
}

void EndProcess(int code) {
  LiveLine::Get().Close();
  RemoveTemporaries();
  _exit(code);
}

void BeginAnew() {
  LiveLine::Get().Close();
  RemoveTemporaries();
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    words.push_back(std::move(word));
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char program[PATH_MAX + 1] = {};
  if (::readlink("/proc/self/exe", program, PATH_MAX) > 0) {
    ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    if (ends_for_closed_pipe) std::signal(SIGPIPE, SIG_DFL);
    ::execv(program, argv.data());
  }
  Say("meshwright: the process cannot begin anew\n");
  _exit(3);
}

void EndBySignal(int number) {
  ::kill(::getpid(), number);
  while (true) ::pause();
}

Uninterrupted::Uninterrupted() : lock_(WholeLock()) {}

TemporaryFile::TemporaryFile(const std::string& stem) {
  static int counter = 0;
  const Uninterrupted whole;
  do {
    path_ = absl::StrCat(stem, ".tmp.", ::getpid(), ".", ++counter);
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ >= 0) Temporaries().insert(path_);
}

TemporaryFile::~TemporaryFile() {
  Close();
  const Uninterrupted whole;
  if (Temporaries().erase(path_) > 0) ::unlink(path_.c_str());
}

int TemporaryFile::Close() {
  const int fd = std::exchange(fd_, -1);
  return fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

int TemporaryFile::MoveTo(const std::string& path) {
  const Uninterrupted whole;
  if (::rename(path_.c_str(), path.c_str()) != 0) return errno;
  Temporaries().erase(path_);
  return 0;
}

void OutliveReader() { ends_for_closed_pipe = false; }

void EndForClosedPipe() {
  if (!ends_for_closed_pipe) return;
  LiveLine::Get().Close();
  RemoveTemporaries();
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
  ::raise(SIGPIPE);
}

}  // namespace meshwright
