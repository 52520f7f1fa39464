// JSON: quotes and commas are put here and nowhere else.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "vyre/base/text.h"

namespace vyre {

// A value as it is written.
class Json {
 public:
  template <class T>
    requires std::convertible_to<T, std::string_view>
  Json(const T& text) : text_(json_quote(text)) {}
  Json(std::same_as<bool> auto truth) : text_(truth ? "true" : "false") {}
  Json(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
      : text_(std::to_string(number)) {}
  Json(double number, int digits = 9) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    text_ = text;
  }
  // Something that is JSON already.
  static Json raw(std::string text) {
    Json json(0);
    json.text_ = std::move(text);
    return json;
  }
  static Json null() { return raw("null"); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class JsonList {
 public:
  bool empty() const { return text_.empty(); }
  JsonList& add(const Json& value) {
    if (!text_.empty()) text_ += ',';
    text_ += value.text();
    return *this;
  }
  operator Json() const { return Json::raw('[' + text_ + ']'); }

 private:
  std::string text_;
};

class JsonObject {
 public:
  JsonObject& add(std::string_view key, const Json& value) {
    if (!text_.empty()) text_ += ',';
    text_ += json_quote(key) + ':' + value.text();
    return *this;
  }
  // The members of another one.
  JsonObject& add(const JsonObject& other) {
    if (!text_.empty() && !other.text_.empty()) text_ += ',';
    text_ += other.text_;
    return *this;
  }
  operator Json() const { return Json::raw('{' + text_ + '}'); }
  std::string line() const { return '{' + text_ + "}\n"; }

 private:
  std::string text_;
};

}  // namespace vyre
