// Labelled images in MNIST's format, as vectors.
#pragma once

#include <memory>

#include "ffn/data/task.hpp"

namespace ffn {

/// Images and the class of each.
struct LabelledImages {
  std::int64_t count = 0;
  std::string pixels;  ///< (count, rows · columns) bytes
  std::string labels;  ///< (count) bytes
};

struct ImageData {
  std::int64_t rows = 0, columns = 0, classes = 0;  ///< classes: the largest label and one
  LabelledImages train, validation;
  std::string sha256;  ///< of the four files, uncompressed
};

/// MNIST's four files in a directory, as they are or with .gz: train-images-idx3-ubyte, train-labels-idx1-ubyte and both with t10k, which
/// are validated on. Read once. Source of the format: LeCun, Cortes and Burges, "The MNIST database". Throws DataError.
std::shared_ptr<const ImageData> read_images(const std::string& directory);

/// For a person: counts, sizes, classes.
std::string describe_images(const ImageData& data, const ImagesConfig& config);

TaskShape shape_of(const ImagesConfig& config);

/// The same of a trained model, from ImagesTask::metadata(). Throws CheckpointError for another task's.
TaskShape trained_images_shape(const std::map<std::string, std::string>& metadata);

/// Images of a file in IDX format, of the size that was trained; without labels. Throws DataError.
ExampleSet images_of(const std::string& file, const std::map<std::string, std::string>& metadata);

class ImagesTask final : public Task {
 public:
  /// Throws DataError.
  ImagesTask(const ImagesConfig& config, std::vector<DataSeeds> seeds);
  TaskShape shape() const override;
  /// Training images, each drawn for itself; with `examples` from the run's own draw of so many.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  /// The first of the t10k files.
  ExampleSet validation(std::int64_t max_examples) const override;
  std::string data_hash() const override { return data_->sha256; }
  /// "images": JSON of rows, columns and classes.
  std::map<std::string, std::string> metadata(std::size_t run) const override;

 private:
  void write(const LabelledImages& images, std::int64_t image, std::int64_t example, const BatchPlace& to) const;

  std::shared_ptr<const ImageData> data_;
  std::vector<std::vector<std::uint32_t>> drawn_;  ///< of each run; empty: all
};

}  // namespace ffn
