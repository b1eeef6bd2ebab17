// The verb gradcheck.
#include <tapegrad/command/optional/optional.h>
#include <tapegrad/tasks/settings/bad_request.h>
#include <tapegrad/tests/support/testing.h>

namespace tapegrad::tasks {
namespace {

TEST(GradcheckVerb, ChecksOneByNameAndListsSimilarNames) {
  EXPECT_EQ(gradcheck({.op = "tanh", .module = ""}), 0);
  EXPECT_EQ(gradcheck({.op = "", .module = "Linear"}), 0);
  const auto refused = [](const std::string& op, const std::string& module) -> std::string {
    try {
      gradcheck({.op = op, .module = module});
    } catch (const BadRequest& refusal) {
      return refusal.what();
    }
    return "not refused";
  };
  EXPECT_TRUE(refused("sofmax", "").starts_with("[--op] unknown operation \"sofmax\" (did you mean softmax"));
  EXPECT_TRUE(refused("foo", "").starts_with("[--op] unknown operation \"foo\" (did you mean "));
  EXPECT_TRUE(
      refused("", "Lineal").starts_with("[--module] unknown module \"Lineal\" (did you mean Linear?); choose from "));
}

}  // namespace
}  // namespace tapegrad::tasks
