#include "ffn/config/run_config.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/formula_names.hpp"
#include "ffn/config/json_reader.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/match.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/names.hpp"

namespace ffn {

bool is_path_safe(const std::string& name) {
  const auto safe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '+' || c == '=';
  };
  if (!std::all_of(name.begin(), name.end(), safe) || name.empty() || name.size() > kLongestName) return false;
  return name[0] != '.' && name[0] != '-';  // hidden, or an option to whatever command is given it
}

namespace {

// Reserved names: moved-aside directories, temporaries, the files of runs and studies.
bool is_reserved(const std::string& name) {
  static const char* const kFiles[] = {"run.json",   "metrics.jsonl", "model.safetensors", "best.safetensors", "checkpoint.safetensors",
                                       "study.json", "log.txt",       "compare.json",      "report.html",      "runs.csv",
                                       "curves.csv", "compare.csv",   "note.txt"};
  return is_moved_aside(name) || is_temporary(name) || std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
}

// The first fault of a role → factor; "" if there is none.
std::string role_factors_problem(const Json& factors, const ModelConfig& model, const TaskConfig& task) {
  std::vector<std::string> known;
  for (const Role role : model.roles()) {
    if (role != Role::position || has_tokens(task)) known.push_back(role_name(role));
  }
  for (const auto& [role, factor] : factors.items()) {
    if (std::find(known.begin(), known.end(), role) == known.end())
      return "the model has no parameters of the role " + shortened(role) + did_you_mean(role, known) + "; its roles: " + join(known);
    if (!factor.is_number() || !(factor.get<double>() >= 0)) return role + ": expected a factor of at least 0, got " + shortened(factor);
  }
  return "";
}

}  // namespace

void LogConfig::describe(FieldVisitor& v) {
  v.flag({"layers", "with train.layer_metrics: also log the values of each block (ffn/dead_units.0)"}, layers);
}

void RunConfig::describe(FieldVisitor& v) {
  v.text({"name", "name of the run's directory"}, name);
  v.text({"label",
          "name of this variant in tables, sentences and charts; not part of the run's identity. In a sweep, set it in include or zip"},
         label);
  v.integer({"seed", "root seed of initial weights, data order and dropout"}, seed, at_least(std::int64_t{0}));
  v.require(is_path_safe(name), "name",
            shortened(name) + " is not a directory name; use up to 128 letters, digits and -_.+=, not starting with a dot or dash");
  v.require(!is_reserved(name), "name", shortened(name) + " is reserved: ffn-train uses it for its own files");
  if (command) {
    v.group({"engine", kEngineDoc}, *command);
    return v.choice({"keep", "files that stay when a run has finished"}, keep, {{"all", "all"}, {"summary", "run.json alone"}});
  }
  v.one_of({"task", "the task"}, task);
  v.group({"model", "the network"}, model);
  v.group({"train", "how it is trained"}, train);
  v.group({"compute", "engine, device and threads; not part of the run's identity"}, compute);
  v.group({"log", "further logs beside metrics.jsonl; not part of the run's identity"}, log);
  v.choice({"keep", "files that stay when a run has finished; not part of the run's identity"}, keep,
           {{"all", "run.json, metrics and weights"},
            {"best",
             "the same and best.safetensors, the weights that were best by the target's metric, or by val/loss without a target; "
             "for sample, inspect and --init-from"},
            {"state", "as all and the optimizer's state, from which a run of more train.steps goes on"},
            {"summary", "run.json alone"}});
  const std::vector<const char*> roles_come_from{"model.ffn.kind", "model.ffn.parameters", "model.attention", "model.norm.kind",
                                                 "task.kind"};
  const std::string of_rates =
      std::visit([&](const auto& optimizer) { return role_factors_problem(*optimizer.lr_scale, model, task); }, train.optimizer);
  v.require(of_rates.empty(), "train.optimizer.lr_scale", of_rates, roles_come_from);
  const std::string of_decay = std::visit(
      [&](const auto& optimizer) {
        const bool norms_decay = optimizer.decay == "all" || !optimizer.decay_scale->contains("norm");
        return norms_decay ? role_factors_problem(*optimizer.decay_scale, model, task)
                           : "norms do not decay; set decay=all, or remove norm";
      },
      train.optimizer);
  v.require(of_decay.empty(), "train.optimizer.decay_scale", of_decay, roles_come_from);
  const std::string of_starts = model.init_scale->contains("norm") ? "norms start at 1, whatever init_scale; remove norm"
                                                                   : role_factors_problem(*model.init_scale, model, task);
  v.require(of_starts.empty(), "model.init_scale", of_starts, roles_come_from);
  const bool allows_mup = !std::holds_alternative<SgdConfig>(train.optimizer) && !std::holds_alternative<MuonConfig>(train.optimizer);
  v.require(
      model.init != "mup" || allows_mup, "model.init",
      "mup says how the rates of adamw, adam and lion change with the width, not of this optimizer; choose one of them, or another init",
      {"train.optimizer.kind"});
  v.require(!writes_text(task) || !model.attention || model.attention->causal, "model.attention.causal",
            "each position of a text has to predict the next character, which attention to later positions would show it; set "
            "model.attention.causal=true",
            {"task.kind"});
  v.require(!writes_text(task) || !has_expert_choice(model), "model.ffn.router",
            "expert_choice compares a token with later ones, which a text's positions have to predict; choose another router",
            {"task.kind"});
  const auto* moe = std::get_if<MoeConfig>(&model.ffn);
  const std::int64_t tokens = train.batch_size * positions_of(task);
  v.require(
      !moe || !moe->capacity_factor || moe->capacity(tokens) > 0, "model.ffn.capacity_factor",
      "of a batch's " + std::to_string(tokens) + " tokens no expert would take any; choose a larger capacity_factor or train.batch_size",
      {"train.batch_size", "model.ffn.num_experts", "model.ffn.top_k", "task.kind"});
  const std::string untied = model.tie ? why_not_tied(task) : "";
  v.require(untied.empty(), "model.tie",
            "the head can be the embedding only where the task's classes are its tokens, as of text; of this task " + untied +
                "; set model.tie=false",
            {"task.kind"});
  const Target target = target_of(task);
  const auto plural = [](Target of) { return std::string(of == Target::classes ? "classes" : "vectors"); };
  if (const auto of_loss = target_of_loss(train.loss); of_loss && *of_loss != target) {
    v.require(false, "train.loss", train.loss + " is a loss of " + plural(*of_loss) + ", but the task's targets are " + plural(target),
              {"task.kind"});
    return;  // what it would log is not known
  }
  v.require(train.label_smoothing == 0 || std::holds_alternative<CrossEntropy>(loss()), "train.label_smoothing",
            "label_smoothing is for cross-entropy, and this run trains on another loss", {"train.loss"});
  if (const MetricRow* row = train.target ? find_metric_row(train.target->metric) : nullptr) {
    const auto [who, key] = text_of(row->logged_by);
    std::string logged;
    for (const auto& other : metric_catalogue()) {
      if (other.logged_by == LoggedBy::every_run || !is_logged(other, *this)) continue;
      logged += (logged.empty() ? "; this one logs " : ", ") + std::string(other.name);
    }
    v.require(is_logged(*row, *this), "train.target.metric",
              std::string("the target metric ") + row->name + " is logged for " + who + " only" + logged, {key});
  }
}

const MetricRow& RunConfig::best_by() const { return train.target ? *find_metric_row(train.target->metric) : metric::kValLoss; }

Loss RunConfig::loss() const {
  auto loss = loss_of(train.loss, target_of(task));
  if (auto* cross_entropy = std::get_if<CrossEntropy>(&loss)) cross_entropy->smoothing = train.label_smoothing;
  return loss;
}

const char* other_width(const std::string& key) {
  if (key == "model.ffn.d_ff") return "model.ffn.expansion";
  return key == "model.ffn.expansion" ? "model.ffn.d_ff" : nullptr;
}

namespace {

void keep_newer_of(Document& document, const std::string& section, const char* first, const char* second) {
  const Json::json_pointer at(section);
  if (!document.tree().contains(at) || !document.tree()[at].is_object()) return;
  Json& keys = document.tree()[at];
  for (const char* key : {first, second}) {
    if (!keys.contains(key) || keys[key].is_null()) return;
  }
  const Origin &one = document.origin(section + "/" + first), &other = document.origin(section + "/" + second);
  if (one.is_override() && other.is_override()) return;  // a sweep of one command is newer, but no less typed than the other
  if (one.layer != other.layer) keys.erase(one.layer < other.layer ? first : second);
}

}  // namespace

void keep_newer(Document& document) {
  keep_newer_of(document, "/model/ffn", "d_ff", "expansion");
  keep_newer_of(document, "/train/target", "at_least", "at_most");
}

namespace {

bool has_trained_runs(const std::filesystem::path& directory) {
  const auto entries = entries_of(directory);
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    const std::string name = entry.path.filename().string();
    return name.rfind("seed-", 0) == 0 && !is_no_result(name) && path_exists(entry.path / "model.safetensors");
  });
}

// The run of each seed, for a directory of runs or a study with one variant; other paths stay.
std::string each_seed_of(const std::filesystem::path& directory) {
  if (!directory_exists(directory) || path_exists(directory / "model.safetensors")) return directory.string();
  if (has_trained_runs(directory)) return (directory / kEverySeed).string();
  std::vector<std::string> found;
  for (const auto& entry : entries_of(directory)) {
    if (!is_no_result(entry.path.filename().string()) && directory_exists(entry.path) && has_trained_runs(entry.path))
      found.push_back(entry.path.string());
  }
  if (found.empty())
    throw UsageError("no trained run in " + directory.string() +
                     ": neither model.safetensors nor, as of a variant or a study, seed-K/model.safetensors");
  if (found.size() == 1) return (std::filesystem::path(found[0]) / kEverySeed).string();
  throw UsageError(directory.string() + " has runs of several variants; name one of them: " + join(found));
}

// Weights to start from count by their content, as data files do. A config that was resolved knows it.
void hash_initial_weights(const Document& document, ModelConfig& model, std::vector<Problem>& problems) {
  const Origin& origin = document.origin("/model/init_from");
  if (model.init_from.empty() || (!model.init_hash.empty() && document.origin("/model/init_hash").layer >= origin.layer)) return;
  try {
    model.init_from = each_seed_of(named_directory(model.init_from));
    if (model.starts_per_seed()) return;  // each run has its own: Starts
    model.init_hash = sha256_hex(read_file(model.initial_weights(0), "file of weights", ExitCode::data, std::uintmax_t{1} << 36));
  } catch (const Error& error) {
    problems.push_back({origin.text(), "/model/init_from", error.what()});
  }
}

RunConfig read_command_run(Document& document, const std::string& source) {
  RunConfig config;
  config.command.emplace().keys = take_free_keys(document);
  JsonReader reader(document);
  reader.read([&config](FieldVisitor& v) { config.describe(v); });
  finish_command(document, *config.command, reader.problems);
  if (!reader.problems.empty()) throw ConfigError(source, std::move(reader.problems), "experiments/JUDGE.md shows commands as engines");
  return config;
}

}  // namespace

RunConfig read_run_config(const Document& document, const std::string& source) {
  RunConfig config;
  Document copy = document;
  copy.tree().erase("$schema");  // an editor's hint, not ours
  if (has_command(copy)) return read_command_run(copy, source);
  keep_newer(copy);
  std::vector<Problem> unresolved;
  resolve_formula_names(copy, unresolved);
  JsonReader reader(copy);
  reader.read([&config](FieldVisitor& v) { config.describe(v); });
  resolve_sizes(config.model, positions_of(config.task));
  hash_initial_weights(copy, config.model, reader.problems);
  const Json::json_pointer examples("/train/eval_examples");
  if (!copy.tree().contains(examples) || copy.tree()[examples].is_null()) {
    config.train.eval_examples = kEvalExamples;
    if (holds_out_all(config.task)) config.train.eval_examples.reset();
  }
  reader.check("/model", [&config](FieldVisitor& v) { require_match(v, config.model, positions_of(config.task)); });
  if (unresolved.empty()) reader.check("/model", [&config](FieldVisitor& v) { require_formula(v, config.model); });
  reader.problems.insert(reader.problems.begin(), unresolved.begin(), unresolved.end());
  if (!reader.problems.empty()) {
    throw ConfigError(source, std::move(reader.problems), "`ffn-train list keys` shows every key with its default");
  }
  return config;
}

Json resolved_json(const RunConfig& config) {
  Json json = write_json(config);
  if (config.command) json.update(*config.command->keys);
  if (const auto& written = config.model.written) {  // match_expansion solves them again
    json["model"]["d_model"] = written->d_model;
    if (config.model.attention) json["model"]["attention"]["heads"] = written->heads;
  }
  return json;
}

std::string cohort_key(const RunConfig& config) {
  Json json = resolved_json(config);
  for (const char* key : {"name", "label", "seed", "keep"}) json.erase(key);
  if (config.command) return dump_json(json);
  json["model"].erase("init_hash");  // of a seed its own
  json.erase("log");
  json["model"]["ffn"].erase("dropout");
  for (const char* rate : {"lr", "adam_lr"}) json["train"]["optimizer"].erase(rate);
  json["train"]["optimizer"].erase("weight_decay");
  return dump_json(json);
}

}  // namespace ffn
