// TensorBoard's event files, byte by byte: records with checksums around messages in protobuf's encoding, without protobuf.
// Layout: tensorboard/summary/writer/record_writer.py, tensorboard/compat/proto/{event,summary,histogram}.proto and
// tensorboard/plugins/hparams/plugin_data.proto of github.com/tensorflow/tensorboard. Standard library only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ffn {

/// CRC-32C (Castagnoli), rotated and shifted as the format wants it.
std::uint32_t masked_crc32c(std::string_view bytes);

/// A message as it stands in a file: its length, and a checksum of both. A reader stops at a wrong length and drops a wrong message.
std::string event_record(std::string_view message);

/// The first event of a file.
std::string version_event(double wall_time);

/// Marks a new beginning: TensorBoard forgets earlier files of the directory that began with this event, too.
std::string beginning_event(double wall_time);

/// Values of one step; they are kept in single precision.
std::string scalars_event(double wall_time, std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

/// A histogram of `values`, of which those that are finite are counted. Empty if none is.
std::string histogram_event(double wall_time, std::int64_t step, const std::string& tag, const std::vector<double>& values);

/// The keys of a run, and the group whose runs the HParams tab averages. A value that reads as a number or as true or false is one.
std::string session_start_event(double wall_time, const std::string& group, const std::map<std::string, std::string>& keys);

enum class SessionEnd { success = 1, failure = 2, running = 3 };
std::string session_end_event(double wall_time, SessionEnd end);

}  // namespace ffn
