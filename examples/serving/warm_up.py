"""Adds warm-up requests to an exported model, and makes it the next version.

    keras-elmo export english_mini staging/elmo
    python warm_up.py staging/elmo served/elmo

TensorFlow Serving runs the requests in a version's folder before it reports
that the version is ready. They must be there before the server sees the folder,
which is therefore moved: both paths must be on one file system. Needs the
package tensorflow-serving-api.
"""

import argparse
import os

import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

SENTENCES = ["One sentence .", "Another , a longer one ."]


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", help="an exported model")
    parser.add_argument("versions", help="folder of the model's versions")
    arguments = parser.parse_args(argv)
    add_requests(arguments.folder, SENTENCES)
    print(move_to_next_version(arguments.folder, arguments.versions))


def add_requests(folder, sentences):
    """Writes a request for each signature that takes strings."""
    extra = os.path.join(folder, "assets.extra")
    os.makedirs(extra, exist_ok=True)
    path = os.path.join(extra, "tf_serving_warmup_requests")
    words = tf.ragged.constant([sentence.split() for sentence in sentences])
    tensors = {"strings": sentences, "tokens": words.to_tensor()}
    tensors["sequence_len"] = tf.cast(words.row_lengths(), "int32")
    signatures = tf.saved_model.load(folder).signatures
    with tf.io.TFRecordWriter(path) as file:
        for name, signature in sorted(signatures.items()):
            _, inputs = signature.structured_input_signature
            if not tensors.keys() >= inputs.keys():
                continue  # It takes ids.
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = name
            for key in inputs:
                proto = tf.make_tensor_proto(tensors[key])
                request.inputs[key].CopyFrom(proto)
            file.write(log.SerializeToString())


def move_to_next_version(folder, versions):
    """Returns the folder's new path."""
    os.makedirs(versions, exist_ok=True)
    numbers = [int(name) for name in os.listdir(versions) if name.isdigit()]
    path = os.path.join(versions, str(max(numbers, default=0) + 1))
    os.rename(folder, path)
    return path


if __name__ == "__main__":
    main()
