// Orderly process exit on Ctrl-C, SIGTERM, a closed terminal or a closed pipe.
// The progress line and temporary files are removed, renames of files and
// database writes in progress are completed, and the exit code follows shells'
// convention (130, 143, 129, 141).
#ifndef MESHWRIGHT_BASE_PROCESS_END_H_
#define MESHWRIGHT_BASE_PROCESS_END_H_

#include <chrono>
#include <mutex>
#include <string>

namespace meshwright {

// From now on signals are received by a thread of their own, so that exiting
// may take locks and time. Call once, before any other thread is started.
// Signals that were ignored (nohup) stay ignored.
void EndOnSignals();

// While an instance exists, the first signal does not end the process but is
// reported here: for servers, which have to inform others. The second signal
// does. One instance at a time.
class EndRequest {
 public:
  EndRequest();
  EndRequest(const EndRequest&) = delete;
  EndRequest& operator=(const EndRequest&) = delete;
  ~EndRequest();

  // The signal that has arrived, within `timeout`; 0: none.
  int Wait(std::chrono::milliseconds timeout) const;
  int signal() const { return Wait(std::chrono::milliseconds(0)); }
};

// Ends immediately, whatever other threads are doing: temporary files are
// removed, renames in progress are completed.
[[noreturn]] void EndProcess(int code);

// Replaces the process by a new instance of the same program with the same
// arguments, environment and process id; connections are closed. Exits with 3
// if that fails.
[[noreturn]] void BeginAnew();

// Ends as this signal would, once no EndRequest exists.
[[noreturn]] void EndBySignal(int number);

// While an instance exists, signals do not end the process, for some seconds at
// most: for short operations that must be completed.
class Uninterrupted {
 public:
  Uninterrupted();

 private:
  std::unique_lock<std::timed_mutex> lock_;
};

// A file that is removed unless it was released before the object is destroyed
// or the process ends.
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

// Ends silently by SIGPIPE, as programs do whose reader has gone. Returns if
// SIGPIPE was ignored when EndOnSignals was called, or that was never called.
void EndForClosedPipe();
// From now on that returns: what is left to do needs no reader.
void OutliveReader();

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_PROCESS_END_H_
