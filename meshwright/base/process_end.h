// How the process ends when it is told to: Ctrl-C, SIGTERM, a closed terminal
// or a closed pipe. The line at the bottom of the terminal goes, temporary
// files go, files that are being renamed or databases that are being written
// are whole, and the exit code is what shells use (130, 143, 129, 141).
#ifndef MESHWRIGHT_BASE_PROCESS_END_H_
#define MESHWRIGHT_BASE_PROCESS_END_H_

#include <chrono>
#include <mutex>
#include <string>

namespace meshwright {

// From now on signals are waited for by a thread of their own, so that ending
// may take locks and time. Call once, before any other thread is started.
// Signals that were ignored (nohup) stay so.
void EndOnSignals();

// While one exists, the first signal does not end the process but is told here:
// for servers, which have others to tell. The second one does. One at a time.
class EndRequest {
 public:
  EndRequest();
  EndRequest(const EndRequest&) = delete;
  EndRequest& operator=(const EndRequest&) = delete;
  ~EndRequest();

  // The signal that has come, within `timeout`; 0: none.
  int Wait(std::chrono::milliseconds timeout) const;
  int signal() const { return Wait(std::chrono::milliseconds(0)); }
};

// Ends at once, with what threads are at: temporary files go, files that are
// being renamed are whole.
[[noreturn]] void EndProcess(int code);

// Replaces the process by a new one of the same program, words, environment and
// number; connections are closed. Ends with 3 if that cannot be.
[[noreturn]] void BeginAnew();

// Ends as that signal would have, once nobody requests to be told of it.
[[noreturn]] void EndBySignal(int number);

// While one exists the process is not ended by a signal, for some seconds at
// most: for what must be done as a whole and takes little time.
class Uninterrupted {
 public:
  Uninterrupted();

 private:
  std::unique_lock<std::timed_mutex> lock_;
};

// A file that is removed when the process ends before the object is released or
// gone.
class TemporaryFile {
 public:
  // Creates `stem`.tmp.PID.N for writing only. On failure fd() is -1, and errno
  // is set.
  explicit TemporaryFile(const std::string& stem);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  int fd() const { return fd_; }
  // Closes it; 0, or errno.
  int Close();
  // Renames it, closed; 0, or errno.
  int MoveTo(const std::string& path);

 private:
  std::string path_;
  int fd_ = -1;
};

// Ends as programs do whose reader has gone: quietly, by SIGPIPE. Returns if
// SIGPIPE was ignored when EndOnSignals was called, or that was never called.
void EndForClosedPipe();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PROCESS_END_H_
