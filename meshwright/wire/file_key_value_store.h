// A key-value store for the processes of one machine: a folder with a file for
// each key. For tests and benchmarks.
#ifndef MESHWRIGHT_WIRE_FILE_KEY_VALUE_STORE_H_
#define MESHWRIGHT_WIRE_FILE_KEY_VALUE_STORE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

class FileKeyValueStore : public KeyValueStore {
 public:
  // `folder` exists.
  explicit FileKeyValueStore(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Set(const std::string& key, std::string value) override;
  absl::StatusOr<std::string> Get(const std::string& key,
                                  absl::Duration timeout) override;

 private:
  std::string PathOf(const std::string& key) const;

  const std::string folder_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_FILE_KEY_VALUE_STORE_H_
