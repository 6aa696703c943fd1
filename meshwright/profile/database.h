// The database of measured rates: an SQLite file.
//
//   MW_ASSIGN_OR_RETURN(auto database, ProfileDatabase::Open(path));
//   MW_RETURN_IF_ERROR(database->Store({.device = "cpu", .devices = 8,
//                                       .cores = 2}, calibration));
//   MW_ASSIGN_OR_RETURN(Rates rates, LoadRates(path, cluster));
#ifndef MESHWRIGHT_PROFILE_DATABASE_H_
#define MESHWRIGHT_PROFILE_DATABASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/profile/calibrate.h"

struct sqlite3;

namespace meshwright {

// The devices that were measured.
struct ProfileKey {
  std::string device;   // A kind of the table.
  int64_t devices = 1;  // Used concurrently.
  int64_t cores = 0;    // That virtual devices share; 0 for real ones.

  bool operator==(const ProfileKey&) const = default;
};
ProfileKey KeyOf(const Cluster& cluster);

struct ProfileEntry {
  ProfileKey key;
  std::string measured;  // When: "2026-11-15T10:42:07Z"
  std::string platform;  // The plug-in and its version.
  Rates rates;
};

class ProfileDatabase {
 public:
  // Creates the file and its folder if necessary, unless `read_only`: then
  // kNotFound. kInvalidArgument, naming the file, if it is something else.
  static absl::StatusOr<std::unique_ptr<ProfileDatabase>> Open(
      const std::string& path, bool read_only = false);
  // Whether Open for writing would succeed later: creates the folder but no
  // file. Call before long work whose result is to be stored.
  static absl::Status CheckStorable(const std::string& path);
  ProfileDatabase(const ProfileDatabase&) = delete;
  ProfileDatabase& operator=(const ProfileDatabase&) = delete;
  ~ProfileDatabase();

  // Replaces the entry with the same key.
  absl::Status Store(const ProfileEntry& entry,
                     absl::Span<const Sample> samples);
  absl::StatusOr<std::vector<ProfileEntry>> Entries();
  absl::StatusOr<std::vector<Sample>> Samples(const ProfileKey& key);

 private:
  ProfileDatabase(std::string path, sqlite3* handle)
      : path_(std::move(path)), handle_(handle) {}

  absl::Status CheckNew(bool read_only);
  absl::Status Execute(const char* sql);
  absl::Status Failure();

  std::string path_;
  sqlite3* handle_;
};

// profile.db in $XDG_CACHE_HOME/meshwright, or in ~/.cache/meshwright.
std::string DefaultProfilePath();

// The rates of a cluster's devices: measured if the database has such devices,
// otherwise assumed; each states its origin. If virtual devices were measured
// in another number, kernel times are scaled, since they share the machine. A
// missing file is not an error.
absl::StatusOr<Rates> LoadRates(const std::string& path,
                                const Cluster& cluster);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_DATABASE_H_
