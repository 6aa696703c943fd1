#include "meshwright/base/output_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

constexpr int kMostLinks = 40;

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status Wrong(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

// 3 for /dev/fd/3 and the like: opening these would truncate a file.
std::optional<int> DescriptorNamed(const std::string& path) {
  int number = 0;
  if (!absl::SimpleAtoi(path.substr(path.rfind('/') + 1), &number) ||
      number < 0) {
    return std::nullopt;
  }
  std::error_code error;
  const auto folder = std::filesystem::canonical(FolderOf(path), error);
  if (error || folder != absl::StrCat("/proc/", ::getpid(), "/fd")) {
    return std::nullopt;
  }
  return number;
}

// The same path with one link resolved.
absl::StatusOr<std::string> Follow(const std::string& link,
                                   const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(link, error);
  if (error) return absl::ErrnoToStatus(error.value(), path);
  return target.is_absolute()
             ? target.string()
             : absl::StrCat(FolderOf(link), "/", target.string());
}

bool MayAccess(const std::string& path, int how) {
  return ::faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0;
}

absl::Status CheckDescriptor(int fd, const std::string& path) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return absl::ErrnoToStatus(errno, path);
  if ((flags & O_ACCMODE) == O_RDONLY) {
    return Wrong(path, "is not open for writing");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OutputTarget> FindTarget(const std::string& path) {
  if (path.empty()) return Wrong("\"\"", "is no name of a file");
  OutputTarget target{.path = path};
  for (int links = 0; links <= kMostLinks; ++links) {
    target.descriptor = DescriptorNamed(target.path);
    if (target.descriptor.has_value()) {
      MW_RETURN_IF_ERROR(CheckDescriptor(*target.descriptor, path));
      return target;
    }
    struct stat info;
    if (::lstat(target.path.c_str(), &info) != 0) {
      if (errno == ENOENT && target.path.back() != '/') return target;
      return absl::ErrnoToStatus(errno, path);
    }
    if (!S_ISLNK(info.st_mode)) {
      if (S_ISDIR(info.st_mode)) return Wrong(path, "is a folder");
      target.info = info;
      return target;
    }
    MW_ASSIGN_OR_RETURN(target.path, Follow(target.path, path));
  }
  return absl::ErrnoToStatus(ELOOP, path);
}

absl::Status CheckWritable(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const OutputTarget target, FindTarget(path));
  if (target.descriptor.has_value()) return absl::OkStatus();
  if (target.info.has_value() && !MayAccess(target.path, W_OK)) {
    return absl::ErrnoToStatus(errno, path);
  }
  if (target.is_special()) return absl::OkStatus();
  const std::string folder = FolderOf(target.path);
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) {
    if (errno != ENOENT) return absl::ErrnoToStatus(errno, path);
    return absl::NotFoundError(
        absl::StrCat(path, ": there is no folder ", folder));
  }
  if (!S_ISDIR(info.st_mode)) {
    return Wrong(path, absl::StrCat(folder, " is no folder"));
  }
  if (!MayAccess(folder, W_OK | X_OK)) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, ": no file may be made in ", folder, ": ",
        std::error_code(errno, std::generic_category()).message()));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
