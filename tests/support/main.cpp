// Catch2 v2 wants main() from one source file; v3 brings it with Catch2::Catch2WithMain.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#endif
#include "support/catch_plain.hpp"
