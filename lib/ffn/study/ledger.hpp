// What a study owes to those before it: the share of alpha that a follow-up is judged at, and what was fixed before its first run.
#pragma once

#include "ffn/store/shown_answers.hpp"
#include "ffn/study/plan.hpp"

namespace ffn {

/// Judges a study with fresh seeds at its share of alpha where an earlier study of these variants, in the same directory, was left open: it
/// sets follow_up and config.compare.alpha. Decided at the study's first start; `fresh`: this is one.
///
/// "Undecided, so ask again with new seeds" makes two errors of alpha out of one. A combination test (Bauer and Köhne 1994,
/// Biometrics 50, 1029) or a conditional error function (Müller and Schäfer 2001, Biometrics 57, 886) would pool both stages, but has to be
/// declared before the first one. Here later studies are not known when the first is judged, as with alpha-investing (Foster and Stine
/// 2008, JRSS B 70, 429): the first keeps all of alpha, so that looking once loses no power, and the k-th follow-up spends 0.1 / 2^(k-1) of
/// it, fixed in advance. A rejection earns nothing back: that would control the false discovery rate, not the chance of any error.
void judge_as_follow_up(Study& study, const std::filesystem::path& out, bool fresh);

/// "the 2nd study of this question (after runs/x): verdicts at 0.5 %, …"; for a person.
std::string ledger_sentence(const FollowUp& follow_up);

/// The follow-up that would be next of these variants: said before it starts.
FollowUp next_follow_up(const std::vector<std::string>& keys, const std::vector<Sibling>& looked_at, double declared_alpha);

/// The history that study.json is to have at this start: what is recorded there, and what the plan fixes before its first run.
StudyHistory history_at_start(const Plan& plan, bool any_finished);

}  // namespace ffn
