"""Classifies images by one of the seven models of Ikoma's slides, with TensorFlow or LiteRT.

    python studies/remote-memory/classify.py MODEL LIBRARY [--images N] [--models FOLDER]
    python studies/remote-memory/classify.py prepare [--models FOLDER]

Weights and images are random: time and memory do not depend on what they are. `prepare` makes the models
once and keeps them (Keras' own file, and converted for LiteRT), so that no run has to convert; nothing is
downloaded. One thread, as far as libraries let one say so; an image at a time. Needs
`pip install 'incast[remote-memory]'`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

SIZES = {
    "MobileNet": 224,
    "EfficientNetB0": 224,
    "DenseNet121": 224,
    "Xception": 299,
    "InceptionV3": 299,
    "ResNet50": 224,
    "VGG16": 224,
}
"""Pixels a side that each model was made for."""
_SEED = 1


def main() -> None:
    """Classifies, and prints how often the commonest class came, which is the same in every run."""
    parser = argparse.ArgumentParser(description="Classification of images by a convolutional network.")
    parser.add_argument("model", choices=[*SIZES, "prepare"])
    parser.add_argument("library", nargs="?", choices=["tensorflow", "litert"], default="litert")
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--models", type=Path, default=Path("results/remote-memory/models"))
    asked = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if asked.model == "prepare":
        for name in SIZES:
            prepare(name, asked.models)
        return
    classify = tensorflow if asked.library == "tensorflow" else litert
    classes = classify(asked.model, asked.models, images(SIZES[asked.model], asked.images))
    print(np.bincount(classes).max(), sum(classes))


def images(size: int, count: int) -> Iterator[np.ndarray]:
    """Random pixels, one image after the other."""
    random = np.random.default_rng(_SEED)
    return (random.random((1, size, size, 3), dtype=np.float32) for _ in range(count))


def prepare(name: str, folder: Path) -> None:
    """Makes a model with random weights, for both libraries, unless it is there."""
    kept, converted = folder / f"{name}.keras", folder / f"{name}.tflite"
    if kept.exists() and converted.exists():
        return
    import tensorflow as tf

    tf.keras.utils.set_random_seed(_SEED)
    model = getattr(tf.keras.applications, name)(weights=None)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(kept)
    part = converted.with_suffix(".part")
    part.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
    part.replace(converted)
    layers = sum("Conv" in type(each).__name__ for each in model.layers)
    print(f"{name}: {model.count_params() * 4 / 1e6:.0f} MB, {layers} convolution layers")


def tensorflow(name: str, folder: Path, of: Iterable[np.ndarray]) -> list[int]:
    """By TensorFlow, as a graph that is traced once."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = tf.keras.models.load_model(folder / f"{name}.keras", compile=False)
    run = tf.function(lambda image: model(image, training=False), reduce_retracing=True)
    return [int(np.argmax(run(tf.constant(image)).numpy())) for image in of]


def litert(name: str, folder: Path, of: Iterable[np.ndarray]) -> list[int]:
    """By LiteRT, formerly TensorFlow Lite. The weights are a file that the kernel maps."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(folder / f"{name}.tflite"), num_threads=1)
    interpreter.allocate_tensors()
    entry, out = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    found = []
    for image in of:
        interpreter.set_tensor(entry, image)
        interpreter.invoke()
        found.append(int(np.argmax(interpreter.get_tensor(out))))
    return found


if __name__ == "__main__":
    main()
