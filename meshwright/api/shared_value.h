// A value that copies share; what it consists of is not in the public headers.
#ifndef MESHWRIGHT_API_SHARED_VALUE_H_
#define MESHWRIGHT_API_SHARED_VALUE_H_

#include <memory>
#include <utility>

namespace meshwright::api {

template <typename Impl>
class SharedValue {
 public:
  explicit SharedValue(std::shared_ptr<const Impl> impl)
      : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace meshwright::api

#endif  // MESHWRIGHT_API_SHARED_VALUE_H_
