// How verbs get their options.
#pragma once

#include <tapegrad/command/verb/parsed.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace tapegrad::tasks {

inline void add_threads(CLI::App* app, Parsed& parsed) { add_options(app, fields_of(parsed)); }

/// A verb, or a part of one, whose request, made from `of`, lists its options.
template <class Request, class Act, class... Of>
CLI::App* add_request(CLI::App* app, Parsed& parsed, Act act, const Of&... of) {
  add_verb(app, parsed.run, std::make_shared<Request>(of...), act);
  return app;
}

/// The verbs of one request each, with and without --threads.
template <class Request, int (*act)(const Request&)>
void add_alone(CLI::App* app, Parsed& parsed) {
  add_request<Request>(app, parsed, act);
}
template <class Request, int (*act)(const Request&)>
void add_computing(CLI::App* app, Parsed& parsed) {
  add_threads(add_request<Request>(app, parsed, act), parsed);
}

/// A part of a verb, with --threads.
template <class Request, class Act, class... Of>
void add_part(CLI::App* verb, std::string_view name, std::string_view help, Parsed& parsed, Act act, const Of&... of) {
  CLI::App* app = verb->add_subcommand(std::string(name), std::string(help));
  add_threads(add_request<Request>(app, parsed, act, of...), parsed);
}

}  // namespace tapegrad::tasks
