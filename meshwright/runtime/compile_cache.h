// An on-disk cache of compiled programs, keyed by the hash of what they were
// compiled from.
//
//   CompileCache cache(folder);
//   MW_ASSIGN_OR_RETURN(auto executable,
//                       cache.Compile(*client, {"hlo", code}, options));
//
// Thread-safe. Programs are compiled anew if the file is damaged or the plug-in
// rejects it. Several processes may share a folder. The CPU plug-in cannot
// serialize programs with XNNPACK reductions (docs/design/0002); those are
// compiled every time.
#ifndef MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_
#define MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"

namespace meshwright {

class CompileCache {
 public:
  // The folder is created when needed; empty: no cache. The oldest files are
  // removed when there are more than `limit` bytes.
  explicit CompileCache(std::string folder, int64_t limit = int64_t{4} << 30);

  // $XDG_CACHE_HOME/meshwright/programs, or under ~/.cache; empty if neither
  // variable is set.
  static std::string DefaultFolder();

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      Client& client, const Program& program, const CompileOptions& options);
  int hits() const { return hits_; }  // Programs that were found.
  int compiled() const { return compiled_; }

 private:
  std::string PathFor(const Client& client, const Program& program,
                      const CompileOptions& options) const;
  void Keep(const std::string& path, const Executable& executable) const;

  const std::string folder_;
  const int64_t limit_;
  // Code is only for processors with all of these features.
  const std::string processor_;
  std::atomic<int> hits_ = 0;
  std::atomic<int> compiled_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_
