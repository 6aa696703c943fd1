// A value that is usually absent, kept out of line: one pointer when empty,
// deep copies, and reads of an empty box see a default value.
//
//   Boxed<Attributes> box;
//   box->dimensions.empty();         // true, nothing allocated
//   box.mutate().dimensions = {0};   // allocates
#ifndef MESHWRIGHT_BASE_BOXED_H_
#define MESHWRIGHT_BASE_BOXED_H_

#include <memory>
#include <utility>

namespace meshwright {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other)
      : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) *this = Boxed(other);
    return *this;
  }
  Boxed& operator=(Boxed&&) = default;

  bool has_value() const { return value_ != nullptr; }
  const T& operator*() const { return value_ ? *value_ : Empty(); }
  const T* operator->() const { return &**this; }

  T& mutate() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

 private:
  static const T& Empty() {
    static const T* const empty = new T();
    return *empty;
  }

  std::unique_ptr<T> value_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_BOXED_H_
