// Reads values of a JSON object, naming what is wrong and where.
#ifndef MESHWRIGHT_MESH_CLUSTER_JSON_H_
#define MESHWRIGHT_MESH_CLUSTER_JSON_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace meshwright::internal {

using Json = nlohmann::ordered_json;

// `where` is the object's name in messages: "device", "hosts[1]".
class JsonObject {
 public:
  // kInvalidArgument for keys that are not among `keys`; empty allows any.
  static absl::StatusOr<JsonObject> Create(
      const Json& json, std::string where,
      std::initializer_list<const char*> keys) {
    if (!json.is_object()) return Bad(where, " must be an object");
    for (const auto& [key, value] : json.items()) {
      bool known = keys.size() == 0;
      for (const char* allowed : keys) known = known || key == allowed;
      if (!known) {
        return Bad(where, ": unknown key \"", key, "\"; there are ",
                   absl::StrJoin(keys, ", "));
      }
    }
    return JsonObject(json, std::move(where));
  }

  const std::string& where() const { return where_; }
  const Json& json() const { return json_; }
  bool Has(const char* key) const { return json_.contains(key); }
  const Json& operator[](const char* key) const { return json_.at(key); }

  // Each replaces `value` if the key is present.
  absl::Status Read(const char* key, double& value) const {
    if (!Has(key)) return absl::OkStatus();
    const Json& json = json_.at(key);
    if (!json.is_number()) return Wrong(key, "a number");
    value = json.get<double>();
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, int64_t& value) const {
    if (!Has(key)) return absl::OkStatus();
    const Json& json = json_.at(key);
    if (!json.is_number_integer() ||
        (json.is_number_unsigned() && json.get<uint64_t>() >> 63 != 0)) {
      return Wrong(key, "an integer");
    }
    value = json.get<int64_t>();
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, bool& value) const {
    if (!Has(key)) return absl::OkStatus();
    if (!json_.at(key).is_boolean()) return Wrong(key, "true or false");
    value = json_.at(key).get<bool>();
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, std::string& value) const {
    if (!Has(key)) return absl::OkStatus();
    if (!json_.at(key).is_string()) return Wrong(key, "a string");
    value = json_.at(key).get<std::string>();
    return absl::OkStatus();
  }
  absl::Status Read(const char* key, std::vector<int64_t>& values) const {
    if (!Has(key)) return absl::OkStatus();
    for (const Json& json : json_.at(key)) {
      if (!json.is_number_integer()) return Wrong(key, "a list of integers");
      values.push_back(json.get<int64_t>());
    }
    return absl::OkStatus();
  }

  absl::Status Wrong(const char* key, const char* expected) const {
    return Bad(
        where_, ": \"", key, "\" must be ", expected, ", not ",
        json_.at(key).dump(-1, ' ', true, Json::error_handler_t::replace));
  }

 private:
  JsonObject(const Json& json, std::string where)
      : json_(json), where_(std::move(where)) {}

  const Json& json_;
  std::string where_;
};

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_MESH_CLUSTER_JSON_H_
