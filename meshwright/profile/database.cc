#include "meshwright/profile/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/cache_folder.h"
#include "meshwright/base/output_target.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int64_t kFormat = 1;  // Stored in the file's user_version.
constexpr int kBusyMilliseconds = 10'000;

constexpr char kSchema[] = R"(
  CREATE TABLE IF NOT EXISTS rates(
    device TEXT, devices INTEGER, cores INTEGER, measured TEXT, platform TEXT,
    json TEXT, PRIMARY KEY(device, devices, cores));
  CREATE TABLE IF NOT EXISTS samples(
    device TEXT, devices INTEGER, cores INTEGER, what TEXT, size REAL,
    members INTEGER, seconds REAL);
  PRAGMA user_version = 1;
)";

// A prepared statement; parameters count from 1, columns from 0.
class Statement {
 public:
  Statement(sqlite3* handle, const char* sql) {
    sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  bool ok() const { return statement_ != nullptr; }
  void Bind(int at, const std::string& text) {
    sqlite3_bind_text(statement_, at, text.data(),
                      static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void Bind(int at, int64_t value) {
    sqlite3_bind_int64(statement_, at, value);
  }
  void Bind(int at, double value) {
    sqlite3_bind_double(statement_, at, value);
  }
  void Bind(const ProfileKey& key) {
    Bind(1, key.device);
    Bind(2, key.devices);
    Bind(3, key.cores);
  }
  int Step() { return sqlite3_step(statement_); }
  void Reset() { sqlite3_reset(statement_); }
  std::string Text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }
  int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  double Real(int column) const {
    return sqlite3_column_double(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// How many virtual devices share a core.
double DevicesInLine(const ProfileKey& key) {
  if (key.cores == 0) return 1;
  return std::max(
      1.0, static_cast<double>(key.devices) / static_cast<double>(key.cores));
}

// Makes kernels slower by the factor `times`.
void Slow(double times, Rates& rates) {
  for (auto& [type, curve] : rates.matmul) {
    for (Curve::Point& point : curve.points) point.value /= times;
  }
  for (Curve::Point& point : rates.memory.points) point.value /= times;
  for (Curve::Point& point : rates.window_elements.points) {
    point.value *= times;
  }
  rates.vector_flops.value /= times;
  rates.transcendentals.value /= times;
  rates.op_seconds.value *= times;
  rates.argument_seconds.value *= times;
}

// Measured rates, with assumed ones where there are none.
Rates Overlay(Rates measured, const Rates& assumed) {
  for (const auto& [type, curve] : assumed.matmul) {
    measured.matmul.try_emplace(type, curve);
  }
  measured.device = assumed.device;
  // These are not measured.
  measured.batch_together = assumed.batch_together;
  measured.unaligned_share = assumed.unaligned_share;
  measured.convolution_seconds = assumed.convolution_seconds;
  measured.column_step_seconds = assumed.column_step_seconds;
  measured.launch_seconds = assumed.launch_seconds;
  measured.graph_seconds = assumed.graph_seconds;
  measured.library_seconds = assumed.library_seconds;
  if (measured.further_array.origin == Origin::kAssumed) {
    measured.further_array = assumed.further_array;
  }
  std::vector<LevelRates> levels = assumed.levels;
  if (!measured.levels.empty() && !levels.empty() &&
      measured.levels[0].origin != Origin::kAssumed) {
    levels[0] = measured.levels[0];
  }
  measured.levels = std::move(levels);
  return measured;
}

absl::Status MakeFolderOf(const std::string& path) {
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(folder.string(), ": ", error.message()));
}

}  // namespace

ProfileKey KeyOf(const Cluster& cluster) {
  if (cluster.shared_host)
    return {"cpu", cluster.device_count(), cluster.cores};
  return {cluster.device.kind, cluster.devices_per_host(), 0};
}

absl::Status ProfileDatabase::Failure() {
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": ", sqlite3_errmsg(handle_)));
}

absl::Status ProfileDatabase::Execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Failure();
  }
  return absl::OkStatus();
}

absl::Status ProfileDatabase::CheckStorable(const std::string& path) {
  MW_RETURN_IF_ERROR(MakeFolderOf(path));
  MW_RETURN_IF_ERROR(CheckWritable(path));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  return Open(path).status();
}

absl::StatusOr<std::unique_ptr<ProfileDatabase>> ProfileDatabase::Open(
    const std::string& path, bool read_only) {
  std::error_code error;
  if (!read_only) {
    MW_RETURN_IF_ERROR(MakeFolderOf(path));
  } else if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat(path, ": no such file"));
  }
  // So that no empty file and no journal remains.
  std::optional<Uninterrupted> whole;
  if (!read_only) whole.emplace();
  sqlite3* handle = nullptr;
  const int flags = read_only ? SQLITE_OPEN_READONLY
                              : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  std::unique_ptr<ProfileDatabase> database(new ProfileDatabase(path, handle));
  if (opened != SQLITE_OK) return database->Failure();
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  int64_t format = 0;
  {
    Statement version(handle, "PRAGMA user_version");
    if (!version.ok() || version.Step() != SQLITE_ROW) {
      return database->Failure();
    }
    format = version.Integer(0);
  }
  if (format > kFormat) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": written by a newer version (format ", format,
                     ", this one reads ", kFormat, ")"));
  }
  if (format == 0) MW_RETURN_IF_ERROR(database->CheckNew(read_only));
  if (!read_only) MW_RETURN_IF_ERROR(database->Execute(kSchema));
  return database;
}

// A file without our format number must be new, that is, empty.
absl::Status ProfileDatabase::CheckNew(bool read_only) {
  Statement tables(handle_, "SELECT count(*) FROM sqlite_master");
  if (!tables.ok() || tables.Step() != SQLITE_ROW) return Failure();
  if (tables.Integer(0) > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": an SQLite database of something else, not one ",
                     "of rates (meshwright profile --calibrate makes one)"));
  }
  if (!read_only) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": an empty file, not a database of rates ",
                   "(meshwright profile --calibrate makes one)"));
}

ProfileDatabase::~ProfileDatabase() { sqlite3_close(handle_); }

absl::Status ProfileDatabase::Store(const ProfileEntry& entry,
                                    absl::Span<const Sample> samples) {
  const Uninterrupted whole;
  MW_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  Statement rates(handle_,
                  "INSERT OR REPLACE INTO rates VALUES(?, ?, ?, ?, ?, ?)");
  Statement clear(handle_,
                  "DELETE FROM samples WHERE device = ? AND devices = ? AND "
                  "cores = ?");
  Statement insert(handle_, "INSERT INTO samples VALUES(?, ?, ?, ?, ?, ?, ?)");
  absl::Status status;
  if (!rates.ok() || !clear.ok() || !insert.ok()) {
    status = Failure();
    (void)Execute("ROLLBACK");
    return status;
  }
  rates.Bind(entry.key);
  rates.Bind(4, entry.measured);
  rates.Bind(5, entry.platform);
  rates.Bind(6, ToJson(entry.rates));
  clear.Bind(entry.key);
  bool done = rates.Step() == SQLITE_DONE && clear.Step() == SQLITE_DONE;
  for (const Sample& sample : samples) {
    insert.Bind(entry.key);
    insert.Bind(4, sample.what);
    insert.Bind(5, sample.size);
    insert.Bind(6, sample.group);
    insert.Bind(7, sample.seconds);
    done = done && insert.Step() == SQLITE_DONE;
    insert.Reset();
  }
  if (!done) {
    status = Failure();
    (void)Execute("ROLLBACK");
    return status;
  }
  return Execute("COMMIT");
}

absl::StatusOr<std::vector<ProfileEntry>> ProfileDatabase::Entries() {
  Statement rows(handle_,
                 "SELECT device, devices, cores, measured, platform, json FROM "
                 "rates ORDER BY device, devices, cores");
  if (!rows.ok()) return Failure();
  std::vector<ProfileEntry> entries;
  int step = rows.Step();
  for (; step == SQLITE_ROW; step = rows.Step()) {
    absl::StatusOr<Rates> rates = ParseRates(rows.Text(5));
    if (!rates.ok()) return Annotate(rates.status(), path_);
    entries.push_back({{rows.Text(0), rows.Integer(1), rows.Integer(2)},
                       rows.Text(3),
                       rows.Text(4),
                       *std::move(rates)});
  }
  if (step != SQLITE_DONE) return Failure();
  return entries;
}

absl::StatusOr<std::vector<Sample>> ProfileDatabase::Samples(
    const ProfileKey& key) {
  Statement rows(handle_,
                 "SELECT what, size, members, seconds FROM samples WHERE "
                 "device = ? AND devices = ? AND cores = ? ORDER BY rowid");
  if (!rows.ok()) return Failure();
  rows.Bind(key);
  std::vector<Sample> samples;
  while (rows.Step() == SQLITE_ROW) {
    samples.push_back(
        {rows.Text(0), rows.Real(1), rows.Integer(2), rows.Real(3)});
  }
  return samples;
}

std::string DefaultProfilePath() {
  const std::string folder = CacheFolder();
  return absl::StrCat(folder.empty() ? "." : folder, "/profile.db");
}

absl::StatusOr<Rates> LoadRates(const std::string& path,
                                const Cluster& cluster) {
  Rates assumed = AssumedRates(cluster);
  auto database = ProfileDatabase::Open(path, /*read_only=*/true);
  if (absl::IsNotFound(database.status())) return assumed;
  MW_RETURN_IF_ERROR(database.status());
  MW_ASSIGN_OR_RETURN(std::vector<ProfileEntry> entries,
                      (*database)->Entries());
  const ProfileKey key = KeyOf(cluster);
  ProfileEntry* best = nullptr;
  for (ProfileEntry& entry : entries) {
    if (entry.key.device != key.device || entry.key.cores != key.cores) {
      continue;
    }
    const auto distance = [&](const ProfileEntry& other) {
      return std::abs(other.key.devices - key.devices);
    };
    if (best == nullptr || distance(entry) < distance(*best)) best = &entry;
  }
  if (best == nullptr) return assumed;
  Slow(DevicesInLine(key) / DevicesInLine(best->key), best->rates);
  return Overlay(std::move(best->rates), assumed);
}

}  // namespace meshwright
