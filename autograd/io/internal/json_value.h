// A JSON value. Only json_value.cpp includes nlohmann-json, which parses and writes it: the library's templates would
// take a fifth of the compile time of each file that reads a value.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tapegrad {

// A value has another type, a text is not JSON, or a string is not UTF-8.
class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
concept JsonInteger = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept JsonRange = !std::convertible_to<const T&, std::string_view> && requires {
  typename T::const_iterator;
};
// What a value converts to where it is assigned.
template <class T>
concept JsonAssigned = (std::is_arithmetic_v<T> && !std::same_as<T, char>) ||
                       requires(T values, typename T::value_type value) {
  values.push_back(value);
};

class Json {
 public:
  struct Member;
  enum class BadUtf8 { reject, replace };

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  template <std::same_as<bool> T>
  Json(T value) noexcept : kind_(Kind::boolean), bits_(value) {}
  template <JsonInteger T>
  Json(T value) noexcept
      : kind_(std::signed_integral<T> ? Kind::integer : Kind::unsigned_integer), bits_(static_cast<int64_t>(value)) {}
  template <std::floating_point T>
  Json(T value) noexcept : kind_(Kind::number), bits_(std::bit_cast<int64_t>(static_cast<double>(value))) {}
  Json(std::string text);
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(const char* text) : Json(std::string(text)) {}
  // An object from a map, an array from any other range.
  template <JsonRange Range>
  Json(const Range& values) {
    if constexpr (requires { typename Range::mapped_type; }) {
      *this = object();
      for (const auto& [key, value] : values) (*this)[key] = value;
    } else {
      *this = array();
      for (const auto& value : values) push_back(static_cast<typename Range::value_type>(value));
    }
  }
  template <class A, class B>
  Json(const std::pair<A, B>& pair) : Json(array({pair.first, pair.second})) {}
  // An object, if each element is an array of a string and a value; else an array.
  Json(std::initializer_list<Json> elements);
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json() = default;

  static Json array(std::initializer_list<Json> elements = {});
  static Json object();
  static Json parse(std::string_view text);

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number_unsigned() const { return kind_ == Kind::unsigned_integer; }
  bool is_number_integer() const { return kind_ == Kind::integer || is_number_unsigned(); }
  bool is_number_float() const { return kind_ == Kind::number; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_structured() const { return is_array() || is_object(); }
  const char* type_name() const;

  // The value as a T. Numbers are converted; JsonError if any other type is not the value's.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>) {
      return boolean();
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(integer());
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(number());
    } else if constexpr (std::same_as<T, std::string>) {
      return string();
    } else if constexpr (std::same_as<T, Json>) {
      return *this;
    } else {
      T values;
      for (const Json& element : elements()) values.push_back(element.get<typename T::value_type>());
      return values;
    }
  }
  const std::string& string() const&;
  std::string string() && { return std::as_const(*this).string(); }
  template <JsonAssigned T>
  operator T() const {
    return get<T>();
  }

  // The elements of an array; null has none. size() also counts the members of an object, and is 1 for other values.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Json* begin();
  Json* end();
  const Json* begin() const;
  const Json* end() const;
  const Json& back() const { return at(size() - 1); }
  Json& back() { return at(size() - 1); }
  const Json& front() const { return at(0); }
  Json& at(std::size_t index);
  const Json& at(std::size_t index) const;
  template <std::integral T>
  Json& operator[](T index) & {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral T>
  const Json& operator[](T index) const& {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral T>
  Json operator[](T index) && {
    return std::move(at(static_cast<std::size_t>(index)));
  }
  Json& push_back(Json element);  // null becomes an array

  // The members of an object, in order. Other values have none if they are constant; otherwise JsonError.
  std::vector<Member>& items() &;
  const std::vector<Member>& items() const&;
  std::vector<Member> items() &&;
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  Json& at(std::string_view key) &;
  const Json& at(std::string_view key) const&;
  Json at(std::string_view key) && { return std::move(at(key)); }
  // A missing member is added, and null becomes an object; of a constant object, a missing member is null.
  template <std::convertible_to<std::string_view> Key>
  Json& operator[](const Key& key) & {
    return member(key);
  }
  template <std::convertible_to<std::string_view> Key>
  const Json& operator[](const Key& key) const& {
    return member(key);
  }
  template <std::convertible_to<std::string_view> Key>
  Json operator[](const Key& key) && {
    return std::move(member(key));
  }
  template <class T>
  T value(std::string_view key, T otherwise) const {
    const Json* const found = find(key);
    return found ? found->get<T>() : otherwise;
  }
  std::string value(std::string_view key, const char* otherwise) const { return value(key, std::string(otherwise)); }
  bool erase(std::string_view key);
  void update(const Json& members);

  // In one line for a negative indent. Characters beyond ASCII are escaped with `ascii`. Throws a JsonError for a
  // string that is not UTF-8, or replaces its bytes by U+FFFD.
  std::string dump(int indent = -1, bool ascii = false, BadUtf8 bad = BadUtf8::reject) const;

  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }
  template <class T>
  requires(std::is_arithmetic_v<T> || std::convertible_to<const T&, std::string_view>) friend bool operator==(
      const Json& a, const T& b) {
    return a.equals(Json(b));
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  friend std::partial_ordering operator<=>(const Json& a, T b) { return a.number() <=> static_cast<double>(b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json) {
    return out << json.dump(-1, true, BadUtf8::replace);
  }

 private:
  enum class Kind : uint8_t { null, boolean, integer, unsigned_integer, number, string, array, object };
  struct Content;
  struct Delete {
    void operator()(Content* content) const;
  };

  explicit Json(Kind kind);
  bool boolean() const;
  int64_t integer() const;
  double number() const;
  const std::vector<Json>& elements() const;
  Content& require(Kind kind) const;
  Json& member(std::string_view key);
  const Json& member(std::string_view key) const;
  bool equals(const Json& other) const;

  Kind kind_ = Kind::null;
  int64_t bits_ = 0;                          // of a boolean or a number
  std::unique_ptr<Content, Delete> content_;  // of a string, an array, or an object
};

struct Json::Member {
  std::string key;
  Json value;
};

// Where and why a text is not JSON.
struct JsonFault {
  std::optional<std::string> twice;  // a repeated key
  std::size_t end = 0;               // the number of bytes that were read
  std::string message;               // of the parser, without what it had read
  bool overflow = false;             // because of a number that is too large
  explicit operator bool() const { return twice || !message.empty(); }
};

// Takes a member of the outermost object as soon as it is parsed; what it leaves in `value` is dropped.
using TakeMember = std::function<void(const std::string& name, Json& value)>;

// In time proportional to the length of the text.
Json read_json(std::string_view text, const TakeMember& take, JsonFault& fault);

}  // namespace tapegrad
