// What a visit forgets is found.
#include <tapegrad/nn/dict.h>
#include <tapegrad/nn/dropout.h>
#include <tapegrad/nn/gradcheck.h>
#include <tapegrad/nn/linear.h>
#include <tapegrad/nn/sequential.h>
#include <tapegrad/tests/support/near.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapegrad {
namespace {

using tests::error_of;

struct ForgetsALayer {
  nn::Linear up{2, 3}, down{3, 2};
  Tensor operator()(const Tensor& x) const { return down(up(x)); }
  void visit(auto&& field) { field("up", up); }
};

struct ForgetsADropout {
  nn::Linear up{2, 3};
  nn::Dropout dropout{0.1};
  void visit(auto&& field) { field("up", up); }
};

struct ForgetsABuffer {
  nn::Buffer table{ones({4})};
  nn::Parameter scale{ones({1})};
  void visit(auto&& field) { field("scale", scale); }
};

struct LeavesOneOut {
  nn::Linear student{2, 2}, teacher{2, 2};
  void visit(auto&& field) {
    field("student", student);
    field.ignore(teacher);
  }
};

const char* const kHint =
    " not named by its visit: field(\"name\", member) names a member, and field.ignore(member) leaves one out on "
    "purpose";

std::string found(std::string_view what) { return "[visit] " + std::string(what) + kHint; }

TEST(WholeVisit, NamesWhatIsForgottenAndWhere) {
  ForgetsALayer layer;
  const auto offset = [&](const auto& member) {
    return std::to_string(reinterpret_cast<const std::byte*>(&member) - reinterpret_cast<const std::byte*>(&layer));
  };
  EXPECT_EQ(error_of([&] { nn::state_dict(layer); }),
            found("a parameter of shape [2, 3] at byte " + offset(layer.down.weight) +
                  " of the ForgetsALayer; a parameter of shape [2] at byte " + offset(layer.down.bias) +
                  " of the ForgetsALayer are"));
  ForgetsADropout dropout;
  tests::expect_parts(error_of([&] { nn::state_dict(dropout); }),
                      {"a module with a training mode, as Dropout is, at byte"});
  ForgetsABuffer buffer;
  EXPECT_EQ(error_of([&] { nn::state_dict(buffer); }),
            found("a buffer of shape [4] at byte 0 of the ForgetsABuffer is"));
}

TEST(WholeVisit, AlsoInsideOfOtherModules) {
  nn::List<nn::AnyModule> list;
  list.emplace_back(nn::Linear(2, 2));
  list.emplace_back(ForgetsALayer());
  EXPECT_NE(error_of([&] { nn::state_dict(list); }).find("of the ForgetsALayer \"1\""), std::string::npos);
  EXPECT_NE(error_of([&] {
              nn::gradcheck(ForgetsALayer(), {ones({1, 2})});
            }).find("[visit] a parameter of shape"),
            std::string::npos);
}

struct ForgetsContainers {
  nn::Linear up{2, 3};
  nn::List<nn::Linear> list;
  nn::AnyModule any;
  nn::Dict<nn::Dropout> dict;
  nn::List<nn::AnyModule> functions;  // nothing to be forgotten
  ForgetsContainers() {
    functions.emplace_back([](const Tensor& x) { return x * 2; });
  }
  void visit(auto&& field) { field("up", up); }
};

TEST(WholeVisit, SeesTheModulesOfContainers) {
  ForgetsContainers model;
  EXPECT_EQ(nn::state_dict(model).size(), 2u);  // empty containers
  const auto offset = [&](const auto& member) {
    return std::to_string(reinterpret_cast<const std::byte*>(static_cast<const nn::detail::Member*>(&member)) -
                          reinterpret_cast<const std::byte*>(&model));
  };
  model.list.emplace_back(1, 1);
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }),
            found("a container that holds the parameter \"0.weight\" at byte " + offset(model.list) +
                  " of the ForgetsContainers is"));
  model.list.clear();
  model.any = nn::Linear(1, 1);
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }), found("a container that holds the parameter \"weight\" at byte " +
                                                            offset(model.any) + " of the ForgetsContainers is"));
  model.any = {};
  model.dict.emplace("drop", 0.5);
  const std::string dropout = found("a container that holds the mode of the module \"drop\" at byte " +
                                    offset(model.dict) + " of the ForgetsContainers is");
  EXPECT_EQ(error_of([&] { nn::state_dict(model); }), dropout);
  const ForgetsContainers moved = std::move(model), copy = nn::clone(moved);
  EXPECT_EQ(error_of([&] { nn::state_dict(moved); }), dropout);
  EXPECT_EQ(error_of([&] { nn::state_dict(copy); }), dropout);
}

struct ForgetsAnOptional {
  nn::Linear up{2, 3};
  std::optional<nn::Dropout> dropout;
  void visit(auto&& field) { field("up", up); }
};

// A member is found from its construction to its destruction, also where another one was before.
TEST(WholeVisit, SeesWhatAnOptionalHolds) {
  ForgetsAnOptional model;
  for (int i = 0; i < 2; ++i) {
    EXPECT_NO_THROW(nn::require_whole_visit(model));
    model.dropout.emplace(0.1);
    EXPECT_THROW(nn::require_whole_visit(model), Error);
    EXPECT_THROW(nn::require_whole_visit(ForgetsAnOptional(std::move(model))), Error);
    model.dropout.reset();
  }
}

struct HasBytes {
  nn::Linear up{2, 3};
  alignas(nn::Mode) std::byte bytes[sizeof(nn::Mode)] = {};
  void visit(auto&& field) { field("up", up); }
};

// Bytes that were copied from a member are none.
TEST(WholeVisit, DoesNotTakeBytesForAMember) {
  HasBytes model;
  const nn::Mode mode = true;
  std::memcpy(model.bytes, static_cast<const void*>(&mode), sizeof mode);
  EXPECT_NO_THROW(nn::require_whole_visit(model));
  auto* const made = new (model.bytes) nn::Mode(true);
  EXPECT_THROW(nn::require_whole_visit(model), Error);
  made->~Mode();
  EXPECT_NO_THROW(nn::require_whole_visit(model));
}

// Names the modules of a list, not the list.
struct NamesElements {
  nn::List<nn::Linear> layers = nn::repeat<nn::Linear>(2, 1, 1);
  nn::List<nn::Linear> others = nn::repeat<nn::Linear>(2, 1, 1);
  void visit(auto&& field) {
    field("first", layers[0]);
    field("second", layers[1]);
    field.ignore(others);
  }
};

TEST(WholeVisit, ModulesOfAContainerMayBeNamedOneByOne) {
  NamesElements model;
  EXPECT_EQ(nn::state_dict(model).size(), 4u);
  model.layers.emplace_back(1, 1);
  tests::expect_parts(error_of([&] { nn::state_dict(model); }), {"a container that holds the parameter \"2.weight\""});
}

TEST(WholeVisit, LeftOutOnPurposeOrElsewhereIsNoError) {
  LeavesOneOut model;
  const ForgetsALayer other;  // not a part of the model
  EXPECT_EQ(nn::state_dict(model).size(), 2u);
  LeavesOneOut moved = std::move(model);
  EXPECT_EQ(nn::state_dict(moved).size(), 2u);
  EXPECT_EQ(nn::state_dict(nn::clone(moved)).size(), 2u);
  EXPECT_NO_THROW(nn::require_whole_visit(moved));
  EXPECT_THROW(nn::require_whole_visit(other), Error);
}

}  // namespace
}  // namespace tapegrad
