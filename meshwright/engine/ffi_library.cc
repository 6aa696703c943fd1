#include "meshwright/engine/ffi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/engine/ffi_abi.h"

namespace meshwright {
namespace {

// A plug-in refuses handlers that say they were made with newer headers than
// its own. Newer minor versions only add fields, and handlers check the size of
// whatever they are handed, so each is called by a function of ours that says
// the version which every plug-in accepts.
constexpr size_t kMostHandlers = 64;
std::array<FfiHandler*, kMostHandlers> handlers;

// What `handler` says of itself, in a structure with room for newer fields.
FfiError* TellFor(FfiHandler* handler, FfiFrame& frame,
                  FfiMetadataExtension& asked) {
  struct {
    FfiMetadata known = {};
    std::array<std::byte, 256> newer = {};
  } room;
  room.known.struct_size = sizeof(room);
  FfiMetadataExtension own = asked;
  own.metadata = &room.known;
  FfiExtension* const before = std::exchange(frame.extensions, &own.base);
  FfiError* const error = handler(&frame);
  frame.extensions = before;
  if (error != nullptr) return error;
  FfiVersion& version = asked.metadata->api_version;
  version = room.known.api_version;
  if (version.major_version == kFfiMajor) {
    version.minor_version = std::min(version.minor_version, kFfiMinor);
  }
  asked.metadata->traits = room.known.traits;
  return nullptr;
}

template <size_t number>
FfiError* CallHandler(FfiFrame* frame) {
  FfiHandler* const handler = handlers[number];
  FfiExtension* const first = frame->extensions;
  if (first != nullptr && first->type == kFfiMetadataType) {
    return TellFor(handler, *frame,
                   *reinterpret_cast<FfiMetadataExtension*>(first));
  }
  return handler(frame);
}

template <size_t... numbers>
constexpr std::array<FfiHandler*, kMostHandlers> MakeCallers(
    std::index_sequence<numbers...>) {
  return {&CallHandler<numbers>...};
}
constexpr std::array kCallers =
    MakeCallers(std::make_index_sequence<kMostHandlers>());

struct Loaded {
  std::mutex mutex;
  std::vector<FfiTarget> targets;  // Guarded by mutex.
};

Loaded& Known() {
  static auto& loaded = *new Loaded;
  return loaded;
}

// What dlopen says, without the name of the library.
std::string LastError(const std::string& library) {
  const char* const error = dlerror();
  absl::string_view text = error == nullptr ? "it cannot be loaded" : error;
  absl::ConsumePrefix(&text, absl::StrCat(library, ": "));
  return std::string(text);
}

// Splits LIBRARY from TARGET=SYMBOL,...: at the first colon of the file's name.
bool Split(const std::string& text, std::string& library,
           std::vector<std::string>& targets) {
  const size_t slash = text.rfind('/', text.find('='));
  const size_t colon = text.find(':', slash == std::string::npos ? 0 : slash);
  if (colon == std::string::npos || colon == 0) return false;
  library = text.substr(0, colon);
  targets = absl::StrSplit(text.substr(colon + 1), ',');
  return std::ranges::none_of(targets, [](const std::string& target) {
    return target.empty() || target.front() == '=' || target.back() == '=';
  });
}

}  // namespace

absl::Status LoadFfiLibrary(absl::string_view text) {
  std::string library;
  std::vector<std::string> targets;
  if (!Split(std::string(text), library, targets)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is not LIBRARY:TARGET=SYMBOL[,TARGET=SYMBOL...]"));
  }
  // Without a slash, dlopen would search other folders.
  const std::string path =
      library.find('/') == std::string::npos ? "./" + library : library;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(library, ": ", LastError(path)));
  }
  Loaded& known = Known();
  const std::lock_guard lock(known.mutex);
  for (const std::string& one : targets) {
    const std::pair<std::string, std::string> names =
        absl::StrSplit(one, absl::MaxSplits('=', 1));
    const std::string& target = names.first;
    const std::string& symbol = names.second.empty() ? target : names.second;
    void* const found = dlsym(handle, symbol.c_str());
    if (found == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(library, ": there is no symbol ", symbol,
                       ", which is to be the kernel of ", target));
    }
    if (std::ranges::count(known.targets, target, &FfiTarget::target) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(library, ": ", target, " has a kernel already"));
    }
    const size_t number = known.targets.size();
    if (number == kMostHandlers) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMostHandlers, " kernels"));
    }
    handlers[number] = reinterpret_cast<FfiHandler*>(found);
    known.targets.push_back({target, kCallers[number]});
  }
  return absl::OkStatus();
}

std::vector<FfiTarget> LoadedFfiTargets() {
  Loaded& known = Known();
  const std::lock_guard lock(known.mutex);
  return known.targets;
}

}  // namespace meshwright
