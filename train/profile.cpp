// Profiles as JSON.
#include <tapegrad/autograd/io/internal/json_value.h>
#include <tapegrad/train/internal/profile.h>

namespace tapegrad::train {
namespace {

Json json_of_row(const ProfileRow& row) {
  Json json{{"name", row.name},         {"calls", row.calls}, {"total_ms", row.total_ms}, {"self_ms", row.self_ms},
            {"mean_ms", row.mean_ms()}, {"share", row.share}, {"threads", row.threads()}};
  if (row.flops > 0) {
    json["flops"] = row.flops;
    json["gflops"] = row.gflops();
  }
  if (row.bytes > 0) {
    json["bytes"] = row.bytes;
    json["gb_s"] = row.gb_s();
  }
  if (row.peak_share > 0) json["peak_share"] = row.peak_share;
  return json;
}

Json json_of_operations(const std::vector<ProfileRow>& rows) {
  Json list = Json::array();
  for (const ProfileRow& row : rows) {
    Json json = json_of_row(row);
    json["phase"] = name(row.phase);
    if (!row.within.empty()) json["within"] = row.within;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string profile_json(const ProfileReport& report) {
  Json modules = Json::array();
  for (const ProfileRow& row : report.modules) {
    Json json = json_of_row(row);
    json["forward_ms"] = row.forward_ms;
    json["backward_ms"] = row.backward_ms;
    modules.push_back(std::move(json));
  }
  Json products = Json::object();
  for (const auto& [engine, count] : report.products) products[engine] = count;
  const Json all{{"steps", report.steps},
                 {"wall_ms", report.wall_ms},
                 {"first_step_ms", report.first_step_ms},
                 {"median_step_ms", report.median_step_ms},
                 {"threads", report.threads},
                 {"phases",
                  {{"forward", report.forward_ms},
                   {"backward", report.backward_ms},
                   {"optimizer", report.optimizer_ms},
                   {"data", report.data_ms},
                   {"evaluation", report.evaluation_ms},
                   {"other", report.other_ms}}},
                 {"peak_gflops", report.peak_gflops},
                 {"read_gb_s", report.read_gb_s},
                 {"peak_bytes", report.peak_bytes},
                 {"products", products},
                 {"events", report.events},
                 {"events_left_out", report.events_left_out},
                 {"operations", json_of_operations(report.operations)},
                 {"scopes", json_of_operations(report.scopes)},
                 {"modules", modules}};
  return all.dump(-1, false, Json::BadUtf8::replace);
}

}  // namespace tapegrad::train
