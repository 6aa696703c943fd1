// What is sent between devices, summed by kind and axes.
//
//   all-reduce           over model          14 x 27.4 KiB = 384 KiB
//   collective-permute   over pairs of devices 2 x 1.00 KiB = 2.00 KiB
#ifndef MESHWRIGHT_API_TRAFFIC_TEXT_H_
#define MESHWRIGHT_API_TRAFFIC_TEXT_H_

#include <map>
#include <string>
#include <utility>

namespace meshwright {

class Traffic {
 public:
  // Adds `count` collectives per step, in each of which a device sends
  // `wire_bytes`; `axes` as in plans.
  void Add(const std::string& kind, const std::string& axes, double count,
           double wire_bytes);
  bool empty() const { return sums_.empty(); }
  // A line for each kind and axes, indented.
  std::string ToString() const;

 private:
  struct Sum {
    double count = 0;
    double bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_TRAFFIC_TEXT_H_
