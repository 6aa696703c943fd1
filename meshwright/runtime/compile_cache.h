// Compiled programs on disk, found by the hash of what they were compiled from.
//
//   CompileCache cache(folder);
//   MW_ASSIGN_OR_RETURN(auto executable,
//                       cache.Compile(*client, {"hlo", code}, options));
//
// Files that are damaged, or that the plug-in does not take, are compiled anew.
// Several processes may use one folder. The CPU plug-in cannot write programs
// with reductions of XNNPACK (docs/design/0002); those are compiled every time.
#ifndef MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_
#define MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"

namespace meshwright {

class CompileCache {
 public:
  // The folder is made when needed; empty: nothing is kept. The oldest files go
  // when there are more than `limit` bytes.
  explicit CompileCache(std::string folder, int64_t limit = int64_t{4} << 30);

  // $XDG_CACHE_HOME/meshwright/programs, else under ~/.cache; empty without
  // either.
  static std::string DefaultFolder();

  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      Client& client, const Program& program, const CompileOptions& options);
  int hits() const { return hits_; }  // Programs that were found.

 private:
  std::string PathFor(const Client& client, const Program& program,
                      const CompileOptions& options) const;
  void Keep(const std::string& path, const Executable& executable) const;

  const std::string folder_;
  const int64_t limit_;
  const std::string processor_;  // Code is for those that have all of this.
  int hits_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COMPILE_CACHE_H_
