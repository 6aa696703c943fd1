// Debian's package leaves this header of Gloo's out, though others of its
// headers include it. The same types, as far as they are used here: pointers to
// an object whose destructor waits until nobody holds it.
#ifndef MESHWRIGHT_WIRE_GLOO_HEADERS_GLOO_COMMON_MEMORY_H_
#define MESHWRIGHT_WIRE_GLOO_HEADERS_GLOO_COMMON_MEMORY_H_

#include <memory>
#include <thread>

namespace gloo {

template <typename T>
class NonOwningPtr;

template <typename T>
class ShareableNonOwningPtr final {
 public:
  explicit ShareableNonOwningPtr(T* object) : ptr_(object, [](void*) {}) {}
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;
  ~ShareableNonOwningPtr() {
    const std::weak_ptr<T> held(ptr_);
    ptr_.reset();
    while (!held.expired()) std::this_thread::yield();
  }

  std::shared_ptr<T> ptr_;
};

template <typename T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& ref)
      : ptr_(ref.ptr_) {}

  std::weak_ptr<T> ptr_;
};

}  // namespace gloo

#endif  // MESHWRIGHT_WIRE_GLOO_HEADERS_GLOO_COMMON_MEMORY_H_
