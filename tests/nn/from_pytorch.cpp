// docs/from_pytorch.md: its table is compared with the headers and PyTorch's names (its code:
// tests/comments/guides.cpp).
#include <tapegrad/checks/cases/case.h>
#include <tapegrad/tests/golden/cases.h>
#include <tapegrad/tests/support/patterns.h>
#include <tapegrad/tests/support/testing.h>

namespace tg = tapegrad;

namespace {

using tg::tests::Match, tg::tests::Pattern;

const std::filesystem::path kHeaders(tg::tests::kIncludeDir);

// A path in the sources, or an absolute one.
std::string text_of(const std::filesystem::path& path) { return tg::tests::slurp(tg::tests::kSourceDir / path); }

std::set<std::string> all_of(const std::string& text, const char* pattern) {
  const Pattern regex(pattern);
  std::set<std::string> found;
  for (const Match& at : regex.in(text)) found.insert(at[1]);
  return found;
}

// A public header without its comments.
struct Header {
  std::string path, code;
};
std::vector<Header> headers() {
  static const Pattern comment("//[^\n]*");
  static const Pattern detail(R"(\nnamespace detail \{[\s\S]*?\n\}  // namespace detail)");
  std::vector<Header> all;
  for (const char* const folder : {"autograd", "autograd/io", "nn", "optim", "train/data", "train"}) {
    for (const auto& file : std::filesystem::directory_iterator(kHeaders / folder)) {
      if (file.path().extension() != ".h") continue;
      const std::string path = std::string(folder) + "/" + file.path().filename().string();
      all.push_back({path, comment.replaced(detail.replaced(text_of(file.path()), ""), "")});
    }
  }
  return all;
}

// What a header declares: types, functions, members that are functions, constants.
std::set<std::string> declared_in(const std::string& code) {
  std::set<std::string> names =
      all_of(code, R"((?:struct|class|enum|concept|using) (\w+)(?: final)?(?: :| =|;|\n| \{))");
  names.merge(all_of(code, R"(\n *(?!return\b|throw\b)(?:[\w:<>,&*\[\]]+ )+(\w+)\()"));
  names.merge(all_of(code, R"(constexpr [\w:]+ (k\w+))"));
  names.merge(all_of(code, R"((?:requires\([^\n]*\) |std::string\n +)(?:[\w:<>&]+ )+(\w+)\()"));
  names.merge(all_of(code, R"(requires[^\n]*\n +(\w+)\()"));
  return names;
}

struct Row {
  std::string line, left, here, differences;
};
std::vector<Row> rows_of(const std::string& page) {
  static const Pattern cells(R"(\| (.*?) \| (.*?) \|(?: (.*?) ?\|)?)");
  std::vector<Row> rows;
  std::istringstream in(page.substr(std::min(page.size(), page.find("## The table"))));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("|--") || line.starts_with("| PyTorch |") || line.starts_with("| here |")) continue;
    const std::string plain = Pattern(R"(\\\|)").replaced(line, "or");
    if (const Match found = cells.whole(plain); !found.empty()) {
      // In the last table the names are on the left.
      const bool two = std::ranges::count(plain, '|') == 3;
      rows.push_back({line, two ? "" : found[1], two ? found[1] : found[2], two ? found[2] : found[3]});
    } else if (line.starts_with("|")) {
      rows.push_back({line, "", "", ""});
    }
  }
  return rows;
}

constexpr char kCode[] = "`([^`]+)`";

// The tapegrad names in the table: "relu", "nn::ReLU", "Tensor::reshape".
std::set<std::string> names_here(const std::vector<Row>& rows) {
  std::set<std::string> names;
  for (const Row& row : rows) names.merge(all_of(row.here, kCode));
  return names;
}

std::string folder_of(const std::string& scope) {
  if (scope == "optim") return "optim/";
  if (scope == "data" || scope == "train") return (scope == "data" ? "train/data/" : "train/");
  return scope == "nn" || scope.starts_with("nn::") ? "nn/" : "autograd/";
}

// The faults of a page: names that no header declares, and rows without a reason.
std::vector<std::string> faults(const std::string& page) {
  std::map<std::string, std::set<std::string>> declared;  // by folder
  std::map<std::string, std::set<std::string>> in_class;  // what the header of a class declares
  std::string code;
  std::set<std::string> everything;
  for (const Header& header : headers()) {
    code += header.code;
    const std::set<std::string> names = declared_in(header.code);
    everything.insert(names.begin(), names.end());
    for (const char* const folder : {"autograd/", "nn/", "optim/", "train/data/", "train/"}) {
      if (header.path.starts_with(folder)) declared[folder].insert(names.begin(), names.end());
    }
    for (const std::string& type : all_of(header.code, R"(\n(?:struct|class) (?:\[\[nodiscard\]\] )?(\w+)[^;]*?\{)")) {
      in_class[type].insert(names.begin(), names.end());
    }
    for (const std::string& type : all_of(header.code, R"(\nenum class (\w+))")) {
      in_class[type].merge(all_of(header.code, R"(\b(\w+)\b)"));
    }
  }
  const auto exists = [&](const std::string& name) {
    const std::size_t cut = name.rfind("::");
    if (cut == std::string::npos) return declared["autograd/"].contains(name);
    const std::string scope = name.substr(0, cut), last = name.substr(cut + 2);
    const std::size_t inner = scope.rfind("::");
    const std::string owner = inner == std::string::npos ? scope : scope.substr(inner + 2);
    if (std::isupper(static_cast<unsigned char>(owner[0]))) return in_class[owner].contains(last);
    return declared[folder_of(scope)].contains(last);
  };
  std::vector<std::string> found;
  for (const Row& row : rows_of(page)) {
    if (row.here.empty()) {
      found.push_back("not a row: " + row.line);
    } else if (row.here == "not here") {
      if (row.differences.empty()) found.push_back("no reason: " + row.left);
    } else if (const std::set<std::string> names = all_of(row.here, kCode); names.empty()) {
      found.push_back("neither a name nor \"not here\": " + row.line);
    } else {
      for (const std::string& name : names) {
        if (!exists(name)) found.push_back("not declared: " + name);
      }
    }
    // Examples call tapegrad functions, and `.name` is a member.
    static const std::set<std::string> kYours = {"autocast", "d", "f", "path", "plateau", "size", "sqrt", "x"};
    for (const std::string& example : all_of(row.differences, kCode)) {
      for (const std::string& call : all_of(example, R"((\w+)(?:<\w+>)?\()")) {
        if (!everything.contains(call) && !kYours.contains(call)) found.push_back("not declared: " + call);
      }
      for (const std::string& member : all_of(example, R"(^\.(\w+))")) {
        if (!Pattern("\\b" + member + "\\b").found(code)) found.push_back("no member: " + member);
      }
      for (const std::string& name : all_of(example, R"(\b((?:\w+::)+\w+)\b)")) {
        if (!name.starts_with("std::") && !exists(name)) found.push_back("not declared: " + name);
      }
    }
  }
  return found;
}

std::string page() { return text_of("docs/from_pytorch.md"); }

TEST(FromPyTorch, EveryNameIsDeclaredAndEveryAbsenceHasAReason) {
  for (const std::string& fault : faults(page())) ADD_FAILURE() << fault;
}

TEST(FromPyTorch, FaultsAreFound) {
  const auto faults_of = [](const std::string& rows) { return faults("## The table\n" + rows); };
  using Faults = std::vector<std::string>;
  EXPECT_EQ(faults_of("| `relu` | `relu`, `nn::ReLU`, `Tensor::reshape`, `optim::Adam` | `sum(x)` |\n"), Faults());
  EXPECT_EQ(faults_of("| `relu` | `relo` | |\n"), Faults{"not declared: relo"});
  EXPECT_EQ(faults_of("| `nn.ReLU` | `nn::Relu` | |\n"), Faults{"not declared: nn::Relu"});
  EXPECT_EQ(faults_of("| `nn.ReLU` | `optim::ReLU` | |\n"), Faults{"not declared: optim::ReLU"});
  EXPECT_EQ(faults_of("| `Tensor.view` | `Tensor::backwards` | |\n"), Faults{"not declared: Tensor::backwards"});
  EXPECT_EQ(faults_of("| `celu` | not here | |\n"), Faults{"no reason: `celu`"});
  EXPECT_EQ(faults_of("| `celu` | none | a reason |\n"),
            Faults{"neither a name nor \"not here\": | `celu` | none | a reason |"});
  EXPECT_EQ(faults_of("| `celu` | not here | `alpha * elo(x / alpha)` |\n"), Faults{"not declared: elo"});
  EXPECT_EQ(faults_of("| `conv2d` | `conv2d` | `.strides_of_it` |\n"), Faults{"no member: strides_of_it"});
  EXPECT_EQ(faults_of("| `relu` `relu` |\n"), Faults{"not a row: | `relu` `relu` |"});
}

// Functions that a header declares outside of classes.
std::set<std::string> functions_of(const std::filesystem::path& path) {
  const std::string code = Pattern("//[^\n]*|\n[^\n]*= delete;").replaced(text_of(path), "");
  std::set<std::string> names =
      all_of(code, R"(\n(?:inline )?(?!return|using|friend)[A-Za-z_][\w:]*(?:<[\w:, ]+>)?&? (\w+)\()");
  names.erase("operator");
  return names;
}

TEST(FromPyTorch, EveryOperationIsInTheTable) {
  const std::set<std::string> names = names_here(rows_of(page()));
  std::size_t count = 0;
  std::vector<std::string> with_operations = tg::tests::operation_headers();
  for (const char* const header : {"random.h", "derivatives.h", "on_grad.h"}) {
    with_operations.push_back((kHeaders / "autograd" / header).string());
  }
  for (const std::string& header : with_operations) {
    for (const std::string& name : functions_of(header)) {
      if (name == "formed" || name == "hidden" || name == "in_form") continue;  // in namespace detail
      EXPECT_TRUE(names.contains(name)) << name << " of " << header << " is not in docs/from_pytorch.md";
      ++count;
    }
  }
  EXPECT_GT(count, 230u);
}

// The row of a function of one tensor follows from its case. With TAPEGRAD_WRITE_ROWS, missing ones are written to the
// page: in the place of the row that says that the function is not here, or below that of exp.
TEST(FromPyTorch, EveryCaseIsInARowWithItsNameInPyTorch) {
  std::string text = page();
  const std::vector<Row> rows = rows_of(text);
  std::vector<std::string> missing;
  for (const auto& [name, of] : tg::tasks::op_cases().unaries) {
    const std::string theirs = of.pytorch.starts_with("torch.") ? of.pytorch.substr(6) : of.pytorch;
    const auto row = std::ranges::find_if(rows, [&](const Row& r) { return all_of(r.left, kCode).contains(theirs); });
    if (row != rows.end() && all_of(row->here, kCode).contains(name)) continue;
    const bool replaces = row != rows.end() && row->here == "not here";
    const std::string fresh = "| " + (replaces ? row->left : "`" + theirs + "`") + " | `" + name + "` | |";
    missing.push_back(fresh);
    const std::string old = replaces ? row->line : "| `exp`,";
    text.replace(text.find(old), replaces ? old.size() : 0, replaces ? fresh : fresh + "\n");
  }
  if (!missing.empty() && std::getenv("TAPEGRAD_WRITE_ROWS")) {
    std::ofstream(std::filesystem::path(tg::tests::kSourceDir) / "docs/from_pytorch.md") << text;
  } else {
    for (const std::string& row : missing) ADD_FAILURE() << "no row in docs/from_pytorch.md: " << row;
  }
}

TEST(FromPyTorch, EveryModuleOptimiserAndScheduleIsInTheTable) {
  const std::set<std::string> names = names_here(rows_of(page()));
  std::size_t modules = 0, optimisers = 0;
  for (const Header& header : headers()) {
    const Pattern type(R"(\n(?:struct|class) (\w+)( : [^{]*)?(?: final)?[^;{]*\{(\}|[\s\S]*?\n\});)");
    for (const Match& at : type.in(header.code)) {
      const std::string name = at[1], base = at[2], body = at[3];
      if (header.path.starts_with("nn/")) {
        if (body.find("void visit(") == std::string::npos && base.find("WithAxes<") == std::string::npos &&
            (base.find("detail::") == std::string::npos || base.find("detail::Member") != std::string::npos)) {
          continue;
        }
        if (name == "Visitor") continue;  // which has the word in an error text
        EXPECT_TRUE(names.contains("nn::" + name))
            << name << " of " << header.path << " is not in docs/from_pytorch.md";
        ++modules;
      } else if (header.path.starts_with("optim/")) {
        if (base.find("Optimizer") == std::string::npos && base.find("Adam") == std::string::npos &&
            body.find("double operator()") == std::string::npos && name != "LBFGS") {
          continue;
        }
        EXPECT_TRUE(names.contains("optim::" + name))
            << name << " of " << header.path << " is not in docs/from_pytorch.md";
        ++optimisers;
      }
    }
  }
  EXPECT_GT(modules, 70u);
  EXPECT_GT(optimisers, 22u);
}

TEST(FromPyTorch, EveryNameOfPyTorchIsInTheTable) {
  std::set<std::string> mentioned;
  for (const Row& row : rows_of(page())) {
    for (const std::string& name : all_of(row.left, kCode)) mentioned.insert(name.substr(name.rfind('.') + 1));
  }
  std::istringstream names(text_of("tests/data/pytorch_names.txt"));
  int count = 0;
  for (std::string name; std::getline(names, name); ++count) {
    EXPECT_TRUE(mentioned.contains(name.substr(name.rfind('.') + 1))) << name << " is not in docs/from_pytorch.md";
  }
  EXPECT_GT(count, 700);
}

// ---- The replacements that the table gives for functions that are not here ----

struct Formula {
  std::string on_the_page;
  tg::Tensor value;
  double expected;  // the sum of (i + 1) y[i] over PyTorch's result y, flattened
};

void expect_formulas(const std::vector<Formula>& formulas) {
  const std::string text = page();
  for (const Formula& f : formulas) {
    EXPECT_NE(text.find(f.on_the_page), std::string::npos) << f.on_the_page;
    const tg::Tensor y = f.value.to(tg::kFloat64).flatten();
    EXPECT_NEAR(tg::sum(y * (tg::arange(y.numel()) + 1)).item(), f.expected, 1e-5 * std::max(1.0, std::abs(f.expected)))
        << f.on_the_page;
  }
}

TEST(FromPyTorch, FormulasGiveWhatPyTorchsFunctionsGive) {
  using namespace tg;
  manual_seed(0);
  const Tensor x = randn({4, 6}), a = randn({5, 3}), b = randn({5, 3}), image = randn({2, 3, 6, 6});
  const Tensor columns = randn({2, 12, 9}), w = randn({4, 3, 3});
  const Tensor index = tensor({3, 5});
  const double alpha = 1.5, lambda = 0.5, maxnorm = 0.7, p = 2;
  const int64_t k = 2;
  const Axes axes = 1;
  const MaxPooled best = max_pool2d_with_indices(image, k);
  expect_formulas({
      {R"(alpha * elu(x / alpha))", alpha * elu(x / alpha), 64.74322},
      {R"(x * clamp(maxnorm / norm(x, p, axes, true), {}, 1))", x * clamp(maxnorm / norm(x, p, axes, true), {}, 1),
       13.64074},
      {R"(fold2d(columns, {6, 6}, 2, {.stride = 2}))", fold2d(columns, {6, 6}, 2, {.stride = 2}), -1407.03113},
      {R"(pow(avg_pool2d(pow(x, p), k) * (k * k), 1 / p))", pow(avg_pool2d(pow(abs(image), 3.0), k) * (k * k), 1 / 3.0),
       2256.47751},
      {R"(einsum("...i,oij,...j->...o", {a, w, b}))", einsum("...i,oij,...j->...o", {a, w, b}), 4.56957},
      {R"(masked_select(cdist(x, x), triu(ones({n, n}), 1) > 0))",
       masked_select(cdist(x, x), triu(ones({4, 4}), 1) > 0), 85.19975},
      {R"(x - clamp(x, -lambda, lambda))", x - clamp(x, -lambda, lambda), 4.31244},
      {R"(nonzero(tril(ones({n, n}))))", nonzero(tril(ones({4, 4}))).t(), 313.00000},
      {R"(flip(x, 1).transpose(0, 1))", flip(x, 1).transpose(0, 1), -10.81698},
      {R"(take_along_axis(x, index))", take_along_axis(x, index), 0.95014},
      {R"(index_put(x.flatten(), {index}, values))", index_put(x.flatten(), {index}, tensor({1., 2.})).reshape({4, 6}),
       35.74405},
      {R"(`scatter` into zeros with the indices)",
       scatter(zeros({2, 3, 36}), -1, best.indices.flatten(2), best.values.flatten(2)).reshape({2, 3, 6, 6}),
       5015.78952},
      {R"(pow(full({n}, base), linspace(a, b, n)))", pow(full({5}, 10), linspace(0, 2, 5)), 663.81566},
  });
}

TEST(FromPyTorch, FormulasThatSelectGiveWhatPyTorchsFunctionsGive) {
  using namespace tg;
  manual_seed(0);
  const Tensor x = randn({4, 6}), a = randn({5, 3}), b = randn({5, 3}), values = arange(0, 24, 1, kFloat32);
  const Tensor products = matmul(a, a.t()), block = values.reshape({2, 3, 4});
  const Tensor i = scalar(1, kInt64), j = tensor({0, 1, 2, 3, 0});
  const double lambda = 0.5, threshold = 0.5, value = 7, beta = 0.5, alpha = 2;
  expect_formulas({
      {R"(where(abs(x) <= lambda, 0, x))", where(abs(x) <= lambda, 0, x), 30.81244},
      {R"(where(x <= threshold, value, x))", where(x <= threshold, value, x), 1449.09425},
      {R"(flip(x, {0, 1}))", flip(x, {0, 1}), -15.90113},
      {R"(flip(x, 0).transpose(0, 1))", flip(x, 0).transpose(0, 1), 17.07644},
      {R"(beta * x + alpha * matmul(a, b))", beta * b + alpha * matmul(products, b), 303.45316},
      {R"(index(x[i], {{}, j}))", index(block[1], {{}, j}), 2270},
  });
  EXPECT_EQ(index(block, {i, {}, j}).shape(), Shape({5, 3}));  // the axes of the index first, as the page says
  EXPECT_EQ((ones({2}) * scalar(2, kFloat64)).dtype(), kFloat32);
  const Tensor special = tensor({std::nan(""), INFINITY, -INFINITY, 0.5, -0.5});
  EXPECT_TRUE(allclose(where(abs(special) <= lambda, 0, special), tensor({std::nan(""), INFINITY, -INFINITY, 0., 0.}),
                       0, 0, true));
  EXPECT_TRUE(
      allclose(where(special <= threshold, value, special), tensor({std::nan(""), INFINITY, 7., 7., 7.}), 0, 0, true));
}

}  // namespace
