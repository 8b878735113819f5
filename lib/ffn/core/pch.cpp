// Carries the precompiled standard library and JSON that most targets share.
