#include "ffn/study/adopt.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ffn/base/disk_error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/run_claim.hpp"
#include "ffn/study/run_copy.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// Are flushed together. 5,000 runs of 6 files, on ext4 that others used, too: 23 s; one by one, 114.
constexpr std::size_t kRunsAtOnce = 64;

// The lock of each takes a descriptor, and what is written needs some, too.
std::size_t runs_at_once() {
  struct rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kRunsAtOnce;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 1, kRunsAtOnce);
}

// Also by a link that leads nowhere.
bool is_taken(const fs::path& place) { return link_type_of(place) != fs::file_type::not_found; }

std::vector<fs::path> directories_in(const fs::path& parent) {
  std::vector<fs::path> out;
  for (const auto& [path, type] : entries_of(parent)) {
    if (!is_no_result(path.filename().string()) && type == fs::file_type::directory) out.push_back(path);
  }
  return out;
}

struct Elsewhere {
  fs::path place;
  std::vector<std::string> computed_by;
};

// Finished runs in the study's directory that lie where the plan has none, by identity.
std::multimap<std::string, Elsewhere> runs_elsewhere(const Plan& plan) {
  std::set<std::string> planned;
  for (const auto& variant : plan.study.variants) planned.insert(variant.name);
  std::vector<fs::path> places;
  for (const auto& child : directories_in(plan.directory)) {
    if (holds_run(child)) places.push_back(child);
    else if (!planned.count(child.filename().string())) {
      for (auto& run : directories_in(child)) places.push_back(std::move(run));
    }
  }
  std::multimap<std::string, Elsewhere> out;
  for (const auto& place : places) {
    try {
      if (const auto summary = read_summary(place)) out.emplace(summary->identity, Elsewhere{place, summary->computed_by});
    } catch (const Error&) {  // damaged: no help
    }
  }
  return out;
}

// What keeps one run from being copied may keep thousands: the first few are named, the others counted.
class NotCopied {
 public:
  void add(const RunCopy& copy, const std::exception& error) {
    if (++count_ > kNamed) return;
    log_warning(copy.from.string() + " is what " + copy.to.string() + " will be, and could not be copied: " + error.what() +
                "; the run is trained again");
  }
  void say_others() const {
    if (count_ <= kNamed) return;
    const auto others = count_ - kNamed;
    log_warning(std::to_string(others) + (others == 1 ? " more run could not be copied and is" : " more runs could not be copied and are") +
                " trained again");
  }

 private:
  static constexpr std::size_t kNamed = 3;
  std::size_t count_ = 0;
};

// Returns those of them that have arrived: at the others somebody is at work, or they cannot be copied. Throws DiskError where no other
// could be, either.
std::vector<std::size_t> adopt(const Plan& plan, const std::vector<std::pair<std::size_t, fs::path>>& places, KilledCopies& killed,
                               NotCopied& not_copied) {
  std::vector<RunClaim> claims;
  std::vector<std::size_t> claimed, arrived;
  std::vector<RunCopy> copies;
  for (const auto& [i, place] : places) {
    const RunCopy copy{place, plan.runs[i].directory};
    try {
      auto claim = RunClaim::take(copy.to);
      if (!claim || is_taken(copy.to)) continue;
      killed.remove(copy.to);
      claims.push_back(std::move(*claim));
      claimed.push_back(i);
      copies.push_back(copy);
    } catch (const DiskError&) {
      throw;
    } catch (const std::exception& error) {
      not_copied.add(copy, error);
    }
  }
  try {
    copy_runs(copies);
    return claimed;
  } catch (const DiskError&) {
    throw;
  } catch (const std::exception&) {  // one of them: each by itself tells which
  }
  for (std::size_t k = 0; k < copies.size(); ++k) {
    try {
      if (!is_taken(copies[k].to)) copy_run(copies[k], InTheWay::nothing);
      arrived.push_back(claimed[k]);
    } catch (const DiskError&) {
      throw;
    } catch (const std::exception& error) {
      not_copied.add(copies[k], error);
    }
  }
  return arrived;
}

}  // namespace

std::map<std::size_t, fs::path> adoptable_runs(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found) {
  std::vector<std::size_t> absent;
  for (const auto i : runs) {
    if (found[i] == Progress::pending && !is_taken(plan.runs[i].directory)) absent.push_back(i);
  }
  std::map<std::size_t, fs::path> out;
  if (absent.empty() || !path_exists(plan.directory)) return out;
  const auto elsewhere = runs_elsewhere(plan);
  for (const auto i : absent) {
    const auto [first, last] = elsewhere.equal_range(plan.runs[i].identity);
    const auto fits = std::find_if(first, last, [&](const auto& at) {
      return computed_as_asked(plan.runs[i].config.compute, at.second.computed_by) &&
             check_run(RunDirectory(at.second.place)).verdict == RunCheck::Verdict::whole;
    });
    if (fits != last) out.emplace(i, fits->second.place);
  }
  return out;
}

std::size_t adopt_runs(const Plan& plan, const std::map<std::size_t, fs::path>& places, std::vector<Progress>& found,
                       const std::function<bool(std::size_t)>& goes_on) {
  KilledCopies killed;
  NotCopied not_copied;
  const std::size_t at_once = runs_at_once();
  std::size_t adopted = 0, done = 0;
  for (auto at = places.begin(); at != places.end() && goes_on(done);) {
    std::vector<std::pair<std::size_t, fs::path>> some;
    for (; at != places.end() && some.size() < at_once; ++at) some.emplace_back(*at);
    for (const auto i : adopt(plan, some, killed, not_copied)) {
      found[i] = progress_of(plan.runs[i]);
      ++adopted;
    }
    done += some.size();
  }
  not_copied.say_others();
  return adopted;
}

}  // namespace ffn
