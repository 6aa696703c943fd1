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
  Boxed(const Boxed& other);
  Boxed(Boxed&&) noexcept;
  Boxed& operator=(const Boxed& other);
  Boxed& operator=(Boxed&&) noexcept;
  ~Boxed();

  bool has_value() const { return value_ != nullptr; }
  const T& operator*() const { return value_ ? *value_ : Empty(); }
  const T* operator->() const { return &**this; }

  T& mutate();
  void reset() { *this = Boxed(); }

 private:
  static const T& Empty();

  std::unique_ptr<T> value_;
};

// Not in the class: `extern template class Boxed<T>;` then keeps the code of
// large types in one file.
template <typename T>
Boxed<T>::Boxed(const Boxed& other)
    : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}

template <typename T>
Boxed<T>::Boxed(Boxed&&) noexcept = default;

template <typename T>
Boxed<T>& Boxed<T>::operator=(const Boxed& other) {
  if (this != &other) *this = Boxed(other);
  return *this;
}

template <typename T>
Boxed<T>& Boxed<T>::operator=(Boxed&&) noexcept = default;

template <typename T>
Boxed<T>::~Boxed() = default;

template <typename T>
T& Boxed<T>::mutate() {
  if (!value_) value_ = std::make_unique<T>();
  return *value_;
}

template <typename T>
const T& Boxed<T>::Empty() {
  static const T* const empty = new T();
  return *empty;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_BOXED_H_
