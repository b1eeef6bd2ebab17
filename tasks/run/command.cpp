// The options of `train`.
#include <fmt/format.h>
#include <tapegrad/tasks/run/command.h>
#include <tapegrad/tasks/settings/command_line.h>

#include <CLI/CLI.hpp>
#include <memory>

namespace tapegrad::tasks {

void add_train(CLI::App* app, const Kind& kind, Run& run) {
  struct Asked {
    std::unique_ptr<Recipe> recipe;
    RunRequest request;
  };
  const auto asked = std::make_shared<Asked>(Asked{kind.make(), {}});
  asked->request.out = default_folder(kind.name).string();
  add_options(app, fields_of(*asked->recipe));
  add_options(app, request_fields(asked->request, *asked->recipe));
  app->callback([app, asked, make = kind.make, &run] {
    run = [app, asked, make] {
      const Given given = given_on(app, fields_of(*asked->recipe));
      return train(make, std::move(asked->recipe), asked->request, given);
    };
  });
}

void add_model_option(CLI::App* app, std::string& model) {
  app->add_option("--model", model,
                  fmt::format("{} of a run, or its folder (default: the last run's)", train::kModelFile))
      ->type_name("FILE_OR_DIR");
}

}  // namespace tapegrad::tasks
