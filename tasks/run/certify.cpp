// The verb `certify`: the certificate of a run, on the terminal and as a page.
#include <fmt/format.h>
#include <tapegrad/autograd/io/safetensors.h>
#include <tapegrad/nn/certify.h>
#include <tapegrad/tasks/run/certify.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/run/model_file.h>
#include <tapegrad/tasks/run/train.h>
#include <tapegrad/tasks/settings/output.h>
#include <tapegrad/train/checkpoint.h>
#include <tapegrad/train/drawing/page.h>
#include <tapegrad/version.h>

#include <algorithm>
#include <functional>

namespace tapegrad::tasks {
namespace {

using drawing::escape_markup;

// One copy of the run: with the settings, data and trained parameters of its folder.
class Copy {
 public:
  Copy(const Kind& kind, const train::Checkpoint& saved, const fs::path& model_file) : recipe_(kind.make()) {
    read_settings(*recipe_, saved);
    recipe_->open(&saved);
    require_memory("certify", kModelAndBatch, recipe_->bytes(1));
    training_ = std::make_unique<Training>(*recipe_);
    nn::AnyModel model = recipe_->model();
    initial_ = nn::state_dict(model);
    nn::load_state_dict(model, load_safetensors(model_file.string()).tensors);
    loss_ = training_->loop().loss_of_next_batch();
  }
  nn::AnyModel model() { return recipe_->model(); }
  const NamedTensors& initial() const { return initial_; }
  nn::detail::CertifiedModel certified() {
    return {model(), [this](std::span<const Tensor>) { return loss_(); }};
  }

 private:
  std::unique_ptr<Recipe> recipe_;
  std::unique_ptr<Training> training_;
  NamedTensors initial_;
  std::function<Tensor()> loss_;
};

std::string html_of(const nn::Certificate& page, const std::string& title) {
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"outcome\">{}</p>\n<div class=\"facts\">\n",
                                 escape_markup(title), escape_markup(page.summary()));
  for (const auto& [what, value] : page.subject)
    body +=
        fmt::format("<div class=\"fact\"><b>{}</b><span>{}</span></div>\n", escape_markup(what), escape_markup(value));
  body += "</div>\n";
  for (const nn::CertificateSection& s : page.sections) {
    if (s.lines.empty()) continue;
    body += fmt::format(
        "<h2>{}</h2>\n<p>{}</p>\n<table>\n<tr><th>check</th><th>found</th><th>limit</th><th>digits"
        "</th><th>verdict</th></tr>\n",
        escape_markup(s.title), escape_markup(s.about));
    for (const nn::CertificateLine& line : s.lines) {
      const bool right = line.verdict == nn::Verdict::right, wrong = line.verdict == nn::Verdict::wrong;
      body += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td{}>{}</td></tr>\n",
                          escape_markup(line.what), escape_markup(line.found), escape_markup(line.limit),
                          line.most_digits > 0 ? fmt::format("{:.1f} of {:.1f}", line.digits, line.most_digits) : "",
                          right   ? " class=\"good\""
                          : wrong ? " class=\"wrong\""
                                  : "",
                          name(line.verdict));
    }
    body += "</table>\n";
  }
  if (!page.unchecked.empty()) {
    body += "<h2>Not checked</h2>\n<ul>\n";
    for (const std::string& one : page.unchecked) body += fmt::format("<li>{}</li>\n", escape_markup(one));
    body += "</ul>\n";
  }
  return drawing::page(title, body);
}

}  // namespace

void CertifyRequest::list(Fields& f) {
  Options add(f);
  add("run", "folder of a run", run).type("DIR").positional();
  add("out", "the page to write", out).type("FILE").otherwise("certificate.html in the folder");
  add("numpy", "write parameters, direction and gradient as .npz, to check the numbers by other means", numpy)
      .type("FILE")
      .otherwise("none");
  add("points", "how many: the trained parameters, the initial ones, then moved ones", points,
      {.least = 1, .most = 100});
  add("directions", "random directions at each point", directions, {.least = 1, .most = 1000});
  add("seed", "random seed of directions and moves", seed);
}

int certify(const CertifyRequest& request) {
  require(!request.run.empty(), "run", "expected the folder of a run, got none");
  const fs::path folder = request.run, model_file = folder / train::kModelFile;
  const train::Checkpoint saved = checkpoint_in(folder, "run");
  const std::string task = task_of_json(folder.string(), saved.get<std::string>("options"));
  const auto kind = std::ranges::find(kinds(), task, &Kind::name);
  require(kind != kinds().end(), "run", "expected a run of this command, got one of the task {}", task);
  Copy single(*kind, saved, model_file), wide(*kind, saved, model_file);
  nn::AnyModel wide_model = wide.model();
  nn::to(wide_model, kFloat64);
  nn::CertifyOptions options{.points = std::max<int64_t>(1, request.points - 1),
                             .directions = request.directions,
                             .seed = request.seed,
                             .given = "trained"};
  if (request.points > 1) options.states = {{"initial", single.initial()}};
  nn::Certificate page = nn::detail::certify(single.certified(), wide.certified(), {}, options);
  page.subject.insert(
      page.subject.begin(),
      {{"run", folder.string()},
       {"version", std::string(kVersion)},
       {"repeat", fmt::format("tapegrad certify {} --points {} --directions {} --seed {}", shell_word(request.run),
                              request.points, request.directions, request.seed)}});
  print_text(page.text());
  const fs::path out = request.out.empty() ? folder / "certificate.html" : fs::path(request.out);
  as_bad_request("--out", [&] {
    const std::string html = html_of(page, fmt::format("Gradients of {}", folder.filename().string()));
    request.out.empty() ? train::replace_file({folder, "certificate.html"}, html) : train::replace_file(out, html);
  });
  if (!request.numpy.empty()) as_bad_request("--numpy", [&] { page.write_numpy(request.numpy); });
  print_text(fmt::format("Page: {}\n", out.string()));
  return page ? 0 : 1;
}

}  // namespace tapegrad::tasks
