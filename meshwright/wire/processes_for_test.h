// Workers that are processes.
#ifndef MESHWRIGHT_WIRE_PROCESSES_FOR_TEST_H_
#define MESHWRIGHT_WIRE_PROCESSES_FOR_TEST_H_

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "meshwright/base/file.h"
#include "meshwright/wire/file_key_value_store.h"

namespace meshwright {

// Forks workers, and ends those that are left. The tests that use it have no
// other threads.
class Processes {
 public:
  Processes() {
    std::string folder = testing::TempDir() + "wire_XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  ~Processes() {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      if (children_[rank] > 0) Kill(static_cast<int>(rank));
    }
    std::filesystem::remove_all(folder_);
  }

  // A store that they share with each other and with this process.
  FileKeyValueStore store() const { return FileKeyValueStore(folder_); }

  // The workers run `work`; what it returns is found by Wait().
  void Start(int count, const std::function<absl::Status(int rank)>& work) {
    for (int rank = 0; rank < count; ++rank) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const absl::Status status = work(rank);
        const bool told =
            WriteFileAtomically(ResultOf(rank), status.ToString()).ok();
        _exit(told ? 0 : 1);
      }
      children_.push_back(child);
    }
  }

  void Stop(int rank) { ASSERT_EQ(kill(children_[rank], SIGSTOP), 0); }
  void Kill(int rank) {
    ASSERT_EQ(kill(children_[rank], SIGKILL), 0);
    Reap(rank);
  }

  // Status as text; "OK".
  std::string Wait(int rank) {
    Reap(rank);
    const auto result = ReadFile(ResultOf(rank));
    return result.ok() ? *result : "it left nothing";
  }

 private:
  std::string ResultOf(int rank) const {
    return absl::StrCat(folder_, "/result.", rank);
  }
  void Reap(int rank) {
    if (children_[rank] > 0) waitpid(children_[rank], nullptr, 0);
    children_[rank] = 0;
  }

  std::string folder_;
  std::vector<pid_t> children_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_PROCESSES_FOR_TEST_H_
