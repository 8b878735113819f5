#include "ffn/data/images.hpp"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/json.hpp"
#include "ffn/base/random.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostImageBytes = std::size_t{1} << 31;

/// A file of bytes in up to three dimensions.
struct Idx {
  std::string path, bytes;
  std::vector<std::int64_t> sizes;
  std::size_t begin = 0;  // of the data

  std::string data() const { return bytes.substr(begin); }
};

// gzip's, one part after the other; other files are as they are.
std::string decompressed(const std::string& path) {
  std::string bytes = read_file(path, "file of images or labels", ExitCode::data, kMostImageBytes);
  if (bytes.compare(0, 2, "\x1f\x8b") != 0) return bytes;
  z_stream stream = {};
  const auto end = [](z_stream* open) { return static_cast<void>(inflateEnd(open)); };
  constexpr int kGzip = 16 + MAX_WBITS;
  int code = inflateInit2(&stream, kGzip);
  const std::unique_ptr<z_stream, decltype(end)> open(&stream, end);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::vector<char> part(1 << 20);
  while (code == Z_OK && out.size() <= kMostImageBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
    if (code == Z_STREAM_END && stream.avail_in > 0) code = inflateReset(&stream);
  }
  if (out.size() > kMostImageBytes) throw DataError(path + " is larger than 2 GiB when it is unpacked");
  if (code != Z_STREAM_END) throw DataError(path + " is no complete file of gzip");
  return out;
}

// Magic number 0, 0, 8 (unsigned bytes), dimensions; then the size of each, most significant byte first.
Idx read_idx(const std::string& path, std::size_t dimensions) {
  Idx out{path, "", {}, 4 + 4 * dimensions};
  out.bytes = decompressed(out.path);
  const auto byte = [&](std::size_t i) { return static_cast<std::int64_t>(static_cast<unsigned char>(out.bytes[i])); };
  const bool has_header = out.bytes.size() >= out.begin && byte(0) == 0 && byte(1) == 0 && byte(2) == 8;
  if (!has_header || byte(3) != static_cast<std::int64_t>(dimensions))
    throw DataError(out.path + " is no IDX file of unsigned bytes in " + std::to_string(dimensions) + " dimension" +
                    (dimensions > 1 ? "s" : ""));
  std::int64_t count = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::size_t at = 4 + 4 * d;
    out.sizes.push_back(byte(at) << 24 | byte(at + 1) << 16 | byte(at + 2) << 8 | byte(at + 3));
    count = std::min<std::int64_t>(count * std::min<std::int64_t>(out.sizes.back(), 1 << 20), std::int64_t{1} << 40);
  }
  const auto left = static_cast<std::int64_t>(out.bytes.size() - out.begin);
  if (left != count || count == 0)
    throw DataError(out.path + " has " + std::to_string(left) + " bytes after its header, which says " + std::to_string(count));
  return out;
}

Idx read_idx(const std::string& directory, const std::string& name, std::size_t dimensions) {
  std::string path = (fs::path(directory) / name).string();
  if (!path_exists(path)) path += ".gz";
  if (!path_exists(path))
    throw DataError("there is no " + name + " (or " + name + ".gz) in " + directory,
                    "task.directory needs MNIST's four files; Debian's dataset-fashion-mnist has them");
  return read_idx(path, dimensions);
}

LabelledImages labelled(const Idx& images, const Idx& labels) {
  if (images.sizes[0] != labels.sizes[0])
    throw DataError(images.path + " has " + std::to_string(images.sizes[0]) + " images, " + labels.path + " " +
                    std::to_string(labels.sizes[0]) + " labels");
  return {images.sizes[0], images.data(), labels.data()};
}

std::int64_t largest(const std::string& labels) {
  return static_cast<unsigned char>(*std::max_element(
      labels.begin(), labels.end(), [](char a, char b) { return static_cast<unsigned char>(a) < static_cast<unsigned char>(b); }));
}

std::shared_ptr<const ImageData> read(const std::string& directory) {
  const Idx images = read_idx(directory, "train-images-idx3-ubyte", 3), labels = read_idx(directory, "train-labels-idx1-ubyte", 1),
            other_images = read_idx(directory, "t10k-images-idx3-ubyte", 3),
            other_labels = read_idx(directory, "t10k-labels-idx1-ubyte", 1);
  auto out = std::make_shared<ImageData>();
  out->rows = images.sizes[1];
  out->columns = images.sizes[2];
  if (other_images.sizes[1] != out->rows || other_images.sizes[2] != out->columns)
    throw DataError(other_images.path + " has images of another size than " + images.path);
  out->train = labelled(images, labels);
  out->validation = labelled(other_images, other_labels);
  out->classes = largest(out->train.labels) + 1;
  if (out->classes < 2) throw DataError(labels.path + " has one class only");
  if (largest(out->validation.labels) >= out->classes)
    throw DataError(other_labels.path + " has a class that no training image has: " + std::to_string(largest(out->validation.labels)));
  out->sha256 =
      sha256_hex(sha256_hex(images.bytes) + sha256_hex(labels.bytes) + sha256_hex(other_images.bytes) + sha256_hex(other_labels.bytes));
  return out;
}

TaskShape shape_of_images(std::int64_t pixels, std::int64_t classes) { return {false, pixels, 1, classes}; }

}  // namespace

std::shared_ptr<const ImageData> read_images(const std::string& directory) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const ImageData>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& data = known[directory];
  if (!data) data = read(directory);
  return data;
}

std::string describe_images(const ImageData& data, const ImagesConfig& config) {
  const std::string all = std::to_string(data.train.count), size = std::to_string(data.rows) + " × " + std::to_string(data.columns);
  return config.directory + ": " +
         (config.examples ? std::to_string(*config.examples) + " of " + all + " training images, drawn for each seed"
                          : all + " training images") +
         ", " + std::to_string(data.validation.count) + " to validate on, " + size + " pixels, " + std::to_string(data.classes) +
         " classes";
}

TaskShape shape_of(const ImagesConfig& config) {
  const auto data = read_images(config.directory);
  return shape_of_images(data->rows * data->columns, data->classes);
}

TaskShape trained_images_shape(const std::map<std::string, std::string>& metadata) {
  try {
    const Json images = parse_json(metadata.at("images"));
    return shape_of_images(images.at("rows").get<std::int64_t>() * images.at("columns").get<std::int64_t>(),
                           images.at("classes").get<std::int64_t>());
  } catch (const std::exception&) {
    throw CheckpointError("the weights describe no images; they are not from a task of images");
  }
}

namespace {

float brightness(char pixel) { return static_cast<float>(static_cast<unsigned char>(pixel)) / 255.0f; }

}  // namespace

ExampleSet images_of(const std::string& file, const std::map<std::string, std::string>& metadata) {
  const std::int64_t pixels = trained_images_shape(metadata).input_width;
  const Idx images = read_idx(file, 3);
  if (images.sizes[1] * images.sizes[2] != pixels)
    throw DataError(file + " has images of " + std::to_string(images.sizes[1]) + " × " + std::to_string(images.sizes[2]) +
                        " pixels; the run reads " + std::to_string(pixels),
                    "name a file of images of the size that was trained");
  ExampleSet out;
  out.count = images.sizes[0];
  std::transform(images.bytes.begin() + static_cast<std::ptrdiff_t>(images.begin), images.bytes.end(), std::back_inserter(out.vectors),
                 brightness);
  return out;
}

ImagesTask::ImagesTask(const ImagesConfig& config, std::vector<DataSeeds> seeds)
    : Task(std::move(seeds)), data_(read_images(config.directory)) {
  const auto count = data_->train.count, wanted = config.examples.value_or(count);
  if (wanted > count)
    throw DataError("task.examples (" + std::to_string(wanted) + ") exceeds the " + std::to_string(count) + " training images of " +
                    config.directory);
  for (std::size_t run = 0; wanted < count && run < static_cast<std::size_t>(num_runs()); ++run) {
    RandomStream random(sub_seed(this->seeds(run).train, "images"), 0);
    std::vector<std::uint32_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0u);
    for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i)
      std::swap(all[i], all[i + random.below(static_cast<std::uint32_t>(all.size() - i))]);
    all.resize(static_cast<std::size_t>(wanted));
    drawn_.push_back(std::move(all));
  }
}

TaskShape ImagesTask::shape() const { return shape_of_images(data_->rows * data_->columns, data_->classes); }

void ImagesTask::write(const LabelledImages& images, std::int64_t image, std::int64_t example, const BatchPlace& to) const {
  const std::int64_t width = data_->rows * data_->columns;
  const char* pixels = images.pixels.data() + image * width;
  std::transform(pixels, pixels + width, to.vectors + example * width, brightness);
  to.labels[example] = static_cast<unsigned char>(images.labels[static_cast<std::size_t>(image)]);
}

void ImagesTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
  const auto count = static_cast<std::uint32_t>(drawn_.empty() ? data_->train.count : static_cast<std::int64_t>(drawn_[run].size()));
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const auto image = random.below(count);
    write(data_->train, drawn_.empty() ? image : drawn_[run][image], i, to);
  }
}

ExampleSet ImagesTask::validation(std::int64_t max_examples) const {
  ExampleSet set = empty_set(std::min(data_->validation.count, max_examples), /*shared=*/true);
  const auto to = place(set, 0);
  for (std::int64_t i = 0; i < set.count; ++i) write(data_->validation, i, i, to);
  return set;
}

std::map<std::string, std::string> ImagesTask::metadata(std::size_t /*run*/) const {
  return {{"images", dump_json({{"rows", data_->rows}, {"columns", data_->columns}, {"classes", data_->classes}})}};
}

}  // namespace ffn
