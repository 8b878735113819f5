// Studies from a few words of JSON.
#pragma once

#include <string>

#include "ffn/config/study_config.hpp"
#include "ffn/core/json_document.hpp"

inline ffn::Study study_of(const std::string& json) { return ffn::read_study(ffn::parse_document(json, "study.json", "."), "study.json"); }
