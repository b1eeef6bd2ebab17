// The options of `train`.
#include <tapegrad/tasks/run/command.h>

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
  on_parsed(app, [app, asked, make = kind.make, &run] {
    run = [app, asked, make] {
      const Given given = given_on(app, fields_of(*asked->recipe));
      return train(make, std::move(asked->recipe), asked->request, given);
    };
  });
}

}  // namespace tapegrad::tasks
