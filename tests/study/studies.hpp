// Studies from a few words of JSON.
#pragma once

#include <string>

#include "ffn/base/json_document.hpp"
#include "ffn/config/study_config.hpp"

inline ffn::Study study_of(const std::string& json) { return ffn::read_study(ffn::parse_document(json, "study.json", "."), "study.json"); }
