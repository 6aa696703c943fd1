#include "meshwright/wire/file_key_value_store.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "meshwright/base/file.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

std::string FileKeyValueStore::PathOf(const std::string& key) const {
  std::string path = absl::StrCat(folder_, "/");
  for (const char c : key) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      path += c;
    } else {
      absl::StrAppendFormat(&path, "_%02x", static_cast<unsigned char>(c));
    }
  }
  return path;
}

absl::Status FileKeyValueStore::Set(const std::string& key, std::string value) {
  return WriteFileAtomically(PathOf(key), value);
}

absl::StatusOr<std::string> FileKeyValueStore::Get(const std::string& key,
                                                   absl::Duration timeout) {
  const std::string path = PathOf(key);
  const absl::Time deadline = SteadyNow() + timeout;
  absl::Duration pause = absl::Microseconds(200);
  while (true) {
    absl::StatusOr<std::string> value = ReadFile(path);
    if (!absl::IsNotFound(value.status())) return value;
    if (SteadyNow() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "nobody set ", key, " within ", absl::FormatDuration(timeout)));
    }
    absl::SleepFor(pause);
    pause = std::min(pause * 2, absl::Milliseconds(10));
  }
}

}  // namespace meshwright
