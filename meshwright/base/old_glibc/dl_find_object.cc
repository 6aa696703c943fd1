// libgcc's unwinder asks _dl_find_object, which glibc has since 2.35, for the
// tables of the code at an address. Hidden, as arc4random; exceptions are rare
// here, so the slower search by dl_iterate_phdr, as libgcc had it before, does.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace {

struct Search {
  uintptr_t address;
  dl_find_object* found;
};

int Look(dl_phdr_info* object, size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  bool inside = false;
  void* tables = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) tables = reinterpret_cast<void*>(at);
    if (part.p_type != PT_LOAD) continue;
    inside |= at <= search.address && search.address - at < part.p_memsz;
    begin = at < begin ? at : begin;
    end = at + part.p_memsz > end ? at + part.p_memsz : end;
  }
  if (!inside) return 0;
  *search.found = {.dlfo_map_start = reinterpret_cast<void*>(begin),
                   .dlfo_map_end = reinterpret_cast<void*>(end),
                   .dlfo_eh_frame = tables};
  return 1;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(
    void* address, dl_find_object* found) noexcept {  // NOLINT: libc's name.
  Search search = {reinterpret_cast<uintptr_t>(address), found};
  const bool has_tables =
      dl_iterate_phdr(Look, &search) == 1 && found->dlfo_eh_frame != nullptr;
  return has_tables ? 0 : -1;
}
