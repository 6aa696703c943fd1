// A plug-in's function table, called with absl::Status for errors, and handles
// that free themselves.
//
//   auto args = NewPjrtArgs<PJRT_Event_Await_Args>();
//   args.event = event.get();
//   return api.Call(MW_PJRT(PJRT_Event_Await), args);
//
// Only files named pjrt_* include this header, and only it the C API's.
#ifndef MESHWRIGHT_ENGINE_PJRT_API_H_
#define MESHWRIGHT_ENGINE_PJRT_API_H_

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_c_api.h"

// A function's name and its place in the table.
#define MW_PJRT(function) #function, &PJRT_Api::function

namespace meshwright {

// An argument struct with space for fields that later versions append. A newer
// plug-in rejects structs shorter than its own; in this space it finds zeros,
// the defaults.
template <typename Args>
struct PjrtArgs : Args {
  char later_fields[256];
};

// All fields zero but the size.
template <typename Args>
PjrtArgs<Args> NewPjrtArgs() {
  PjrtArgs<Args> args;
  std::memset(static_cast<void*>(&args), 0, sizeof(args));
  args.struct_size = sizeof(args);
  return args;
}

class PjrtApi {
 public:
  // `table` must live as long as the process.
  explicit PjrtApi(const PJRT_Api* table) : table_(table) {}

  // kUnimplemented if the plug-in is too old to have the function.
  template <typename Args>
  absl::Status Call(absl::string_view name,
                    PJRT_Error* (*PJRT_Api::*slot)(Args*),
                    PjrtArgs<Args>& args) const {
    if (!Has(slot)) {
      return absl::UnimplementedError(
          absl::StrCat("the plug-in (PJRT ", version(), ") has no ", name));
    }
    return ToStatus((table_->*slot)(&args));
  }

  // The error's code and message; frees it. Null is OK.
  absl::Status ToStatus(PJRT_Error* error) const;

  std::string version() const;

  // What a plug-in offers beyond the table; null if it has none of the type, or
  // a smaller, older one. `Extension` begins with PJRT_Extension_Base.
  template <typename Extension>
  const Extension* FindExtension(PJRT_Extension_Type type) const {
    for (const PJRT_Extension_Base* each = table_->extension_start;
         each != nullptr; each = each->next) {
      if (each->type != type) continue;
      if (each->struct_size < sizeof(Extension)) return nullptr;
      return reinterpret_cast<const Extension*>(each);
    }
    return nullptr;
  }

 private:
  // The plug-in's table ends where its own struct_size says, and may hold
  // nulls before that.
  template <typename Slot>
  bool Has(Slot slot) const {
    const auto* begin = reinterpret_cast<const char*>(table_);
    const auto* place = reinterpret_cast<const char*>(&(table_->*slot));
    const auto end = static_cast<size_t>(place - begin) + sizeof(table_->*slot);
    return end <= table_->struct_size && table_->*slot != nullptr;
  }

  const PJRT_Api* table_;
};

struct PjrtDelete {
  const PjrtApi* api = nullptr;

  void operator()(PJRT_Buffer* buffer) const;
  void operator()(PJRT_Client* client) const;
  void operator()(PJRT_Event* event) const;
  void operator()(PJRT_Executable* executable) const;
  void operator()(PJRT_LoadedExecutable* executable) const;
};

template <typename T>
using PjrtHandle = std::unique_ptr<T, PjrtDelete>;

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_PJRT_API_H_
