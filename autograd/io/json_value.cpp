// JSON values, and how nlohmann-json writes them.
#include <fmt/format.h>
#include <tapegrad/autograd/io/internal/json_value.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace tapegrad {

// What does not fit into a number. The places of members are filled when there are more than eight.
struct Json::Content {
  std::string text;
  std::vector<Json> elements;
  std::vector<Member> members;
  std::unordered_map<std::string, std::size_t> places;

  static constexpr std::size_t kFew = 8;

  std::size_t place(std::string_view key) const {
    if (members.size() > kFew) {
      const auto found = places.find(std::string(key));
      return found == places.end() ? members.size() : found->second;
    }
    return static_cast<std::size_t>(std::ranges::find(members, key, &Member::key) - members.begin());
  }
  Json& add(std::string_view key) {
    members.push_back({std::string(key), {}});
    if (members.size() == kFew + 1) fill_places();
    if (members.size() > kFew) places[members.back().key] = members.size() - 1;
    return members.back().value;
  }
  void fill_places() {
    places.clear();
    for (std::size_t i = 0; i < members.size(); ++i) places[members[i].key] = i;
  }
};

Json::Json(Kind kind) : kind_(kind), content_(new Content) {}
Json::Json(std::string text) : Json(Kind::string) { content_->text = std::move(text); }
Json::Json(const Json& other)
    : kind_(other.kind_), bits_(other.bits_), content_(other.content_ ? new Content(*other.content_) : nullptr) {}
Json::Json(Json&& other) noexcept
    : kind_(std::exchange(other.kind_, Kind::null)), bits_(other.bits_), content_(std::move(other.content_)) {}
Json& Json::operator=(Json other) noexcept {
  kind_ = other.kind_;
  bits_ = other.bits_;
  content_.swap(other.content_);
  return *this;
}
void Json::Delete::operator()(Content* content) const { delete content; }

Json::Json(std::initializer_list<Json> elements) : Json(array(elements)) {
  const auto is_member = [](const Json& e) { return e.is_array() && e.size() == 2 && e[0].is_string(); };
  if (!std::ranges::all_of(elements, is_member)) return;
  Json members = object();
  for (Json& element : content_->elements) members[element[0].string()] = std::move(element[1]);
  *this = std::move(members);
}

Json Json::array(std::initializer_list<Json> elements) {
  Json made(Kind::array);
  made.content_->elements = elements;
  return made;
}
Json Json::object() { return Json(Kind::object); }

constexpr const char* kTypes[] = {"null", "boolean", "number", "number", "number", "string", "array", "object"};
const char* Json::type_name() const { return kTypes[static_cast<std::size_t>(kind_)]; }

Json::Content& Json::require(Kind kind) const {
  if (kind_ != kind)
    throw JsonError(fmt::format("expected {}, got {}", kTypes[static_cast<std::size_t>(kind)], type_name()));
  return *content_;
}

bool Json::boolean() const {
  if (!is_boolean()) throw JsonError(fmt::format("expected true or false, got {}", type_name()));
  return bits_ != 0;
}
int64_t Json::integer() const {
  if (is_number_integer()) return bits_;
  constexpr double kEnd = 0x1p63;
  const double x = number();
  if (!(x >= -kEnd && x < kEnd)) throw JsonError(fmt::format("expected a number in the range of int64, got {}", x));
  return static_cast<int64_t>(x);
}
double Json::number() const {
  if (!is_number()) throw JsonError(fmt::format("expected a number, got {}", type_name()));
  return is_number_float()      ? std::bit_cast<double>(bits_)
         : is_number_unsigned() ? static_cast<double>(static_cast<uint64_t>(bits_))
                                : static_cast<double>(bits_);
}
const std::string& Json::string() const& { return require(Kind::string).text; }
const std::vector<Json>& Json::elements() const { return require(Kind::array).elements; }

std::size_t Json::size() const {
  return is_array() ? content_->elements.size() : is_object() ? content_->members.size() : is_null() ? 0 : 1;
}
const Json* Json::begin() const { return is_null() ? nullptr : elements().data(); }
const Json* Json::end() const { return begin() + size(); }
Json* Json::begin() { return const_cast<Json*>(std::as_const(*this).begin()); }
Json* Json::end() { return begin() + size(); }

const Json& Json::at(std::size_t index) const {
  const std::vector<Json>& all = elements();
  if (index >= all.size()) throw JsonError(fmt::format("expected more than {} elements, got {}", index, all.size()));
  return all[index];
}
Json& Json::at(std::size_t index) { return const_cast<Json&>(std::as_const(*this).at(index)); }
Json& Json::push_back(Json element) {
  if (is_null()) *this = array();
  return require(Kind::array).elements.emplace_back(std::move(element));
}

const std::vector<Json::Member>& Json::items() const& {
  static const std::vector<Member> kNone;
  return is_object() ? content_->members : kNone;
}
std::vector<Json::Member>& Json::items() & { return require(Kind::object).members; }
std::vector<Json::Member> Json::items() && { return std::move(items()); }
const Json* Json::find(std::string_view key) const {
  const std::size_t place = is_object() ? content_->place(key) : 0;
  return is_object() && place < content_->members.size() ? &content_->members[place].value : nullptr;
}
const Json& Json::at(std::string_view key) const& {
  const Json* const found = find(key);
  if (!found) throw JsonError(fmt::format("expected the key \"{}\", which is missing", key));
  return *found;
}
Json& Json::at(std::string_view key) & { return const_cast<Json&>(std::as_const(*this).at(key)); }
Json& Json::member(std::string_view key) {
  if (is_null()) *this = object();
  Content& content = require(Kind::object);
  const std::size_t place = content.place(key);
  return place < content.members.size() ? content.members[place].value : content.add(key);
}
const Json& Json::member(std::string_view key) const {
  static const Json kNull;
  const Json* const found = find(key);
  return found ? *found : kNull;
}
bool Json::erase(std::string_view key) {
  Content& content = require(Kind::object);
  const std::size_t place = content.place(key);
  if (place == content.members.size()) return false;
  content.members.erase(content.members.begin() + static_cast<std::ptrdiff_t>(place));
  content.fill_places();
  return true;
}
void Json::update(const Json& members) {
  for (const auto& [key, value] : members.items()) (*this)[key] = value;
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number()) {
    if (is_number_float() || other.is_number_float()) return number() == other.number();
    return bits_ == other.bits_ && (kind_ == other.kind_ || bits_ >= 0);
  }
  if (kind_ != other.kind_ || size() != other.size()) return false;
  if (!content_) return is_null() || bits_ == other.bits_;
  if (content_->text != other.content_->text || content_->elements != other.content_->elements) return false;
  return std::ranges::all_of(items(), [&](const Member& member) {
    const Json* const found = other.find(member.key);
    return found && *found == member.value;
  });
}

namespace {

// Builds the value that the parser reports piece by piece. (Its own callback parser searches the whole parent after
// each object that ends, which takes quadratic time.)
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const TakeMember& take, JsonFault& fault) : take_(take), fault_(fault) {}
  Json root;

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override { return put(value); }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& /*digits*/) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }  // JSON has none
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.back()->contains(name)) {
      fault_.twice = name;
      return false;
    }
    (*open_.back())[name] = nullptr;
    member_ = &open_.back()->items().back();
    if (open_.size() == 1) outermost_ = member_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    fault_.end = position;
    fault_.message = error.what();
    fault_.message.resize(
        std::min(fault_.message.size(), fault_.message.find("; last read")));  // the rest is the text's
    fault_.overflow = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
    return false;
  }

 private:
  Json& place() {  // of the next value
    if (open_.empty()) return root;
    return open_.back()->is_array() ? open_.back()->push_back(nullptr) : member_->value;
  }
  bool put(Json value) {
    place() = std::move(value);
    return ended();
  }
  bool open(Json value) {
    Json& opened = place();
    opened = std::move(value);
    open_.push_back(&opened);
    return true;
  }
  bool close() {
    open_.pop_back();
    return ended();
  }
  bool ended() {
    if (!take_ || open_.size() != 1 || !root.is_object()) return true;
    take_(outermost_->key, outermost_->value);
    outermost_->value = nullptr;
    return true;
  }

  const TakeMember& take_;
  JsonFault& fault_;
  std::vector<Json*> open_;
  Json::Member *member_ = nullptr, *outermost_ = nullptr;
};

nlohmann::ordered_json written(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number()) return json.get<int64_t>();
  if (json.is_string()) return json.string();
  if (json.is_array()) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const Json& element : json) array.push_back(written(element));
    return array;
  }
  nlohmann::ordered_json::object_t object;
  for (const auto& [key, value] : json.items()) object.emplace_back(key, written(value));
  return object;
}

}  // namespace

std::string Json::dump(int indent, bool ascii, BadUtf8 bad) const {
  using Handler = nlohmann::ordered_json::error_handler_t;
  try {
    return written(*this).dump(indent, ' ', ascii, bad == BadUtf8::reject ? Handler::strict : Handler::replace);
  } catch (const nlohmann::ordered_json::type_error& error) {
    throw JsonError(error.what());
  }
}

Json read_json(std::string_view text, const TakeMember& take, JsonFault& fault) {
  Builder builder(take, fault);
  nlohmann::json::sax_parse(text, &builder);
  return std::move(builder.root);
}

Json Json::parse(std::string_view text) {
  JsonFault fault;
  Json parsed = read_json(text, nullptr, fault);
  if (fault.twice) throw JsonError(fmt::format("has the key \"{}\" twice", *fault.twice));
  if (fault) throw JsonError(fault.message);
  return parsed;
}

}  // namespace tapegrad
