"""Runs ELMo on onnxruntime and NumPy, without TensorFlow, Keras or keras-elmo.

    keras-elmo export english_mini elmo.onnx --quantize int8
    python examples/onnx/client.py elmo.onnx "He put cash in the bank ." \\
        "They fished from the bank ."

For each word of the first sentence, it prints the word of the other sentences
with the nearest vector. The class `Elmo` also runs an exported tagger:

    Elmo("tagger.onnx")([["Ann", "slept", "."]])["tags"]
"""

import argparse
import pathlib

import numpy as np
import onnxruntime

BOUNDARIES = {"<S>": [257], "</S>": [258]}


def words_to_ids(sentences, chars):
    """Converts sentences (lists of words) to ids, int32 (batch, time, chars).

    A word is 259, its UTF-8 bytes plus one, and 260; 261 fills the rest of its
    row. Bytes that do not fit are dropped. Padding is zero.
    """
    time = max(map(len, sentences), default=0)
    ids = np.zeros((len(sentences), time, chars), "int32")
    for i, sentence in enumerate(sentences):
        for j, word in enumerate(sentence):
            letters = [byte + 1 for byte in word.encode()[: chars - 2]]
            spelled = [259, *BOUNDARIES.get(word, letters), 260]
            ids[i, j] = 261
            ids[i, j, : len(spelled)] = spelled
    return ids


class Elmo:
    """An exported `ElmoLayer` or tagger.

    Args:
        path: Path of the file that `keras-elmo export` or `export_onnx` wrote.
        names: Names of the outputs to compute. Defaults to all.
        num_threads: Integer. 0 means one thread per core.
    """

    def __init__(self, path, names=None, num_threads=0):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        # Threads that spin while waiting would take CPU time from others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(path, options)
        self._chars = self._session.get_inputs()[0].shape[-1]
        self.names = names or [x.name for x in self._session.get_outputs()]

    def __call__(self, sentences):
        """Maps lists of words to a dictionary of arrays, padded with zeros."""
        ids = words_to_ids(sentences, self._chars)
        outputs = self._session.run(self.names, {"ids": ids})
        return dict(zip(self.names, outputs))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", help="path of the .onnx file")
    parser.add_argument("sentences", nargs="+", help="two or more, tokenised")
    arguments = parser.parse_args()
    sentences = [text.split() for text in arguments.sentences]
    if len(sentences) < 2 or not all(sentences):
        parser.error(
            "give two or more sentences, each with a word: the words of the "
            "first are compared with those of the others"
        )
    if not pathlib.Path(arguments.model).is_file():
        parser.error(f"there is no file {arguments.model}")
    model = Elmo(arguments.model)
    if "elmo" not in model.names:
        parser.error(
            f"{arguments.model} has no output 'elmo', but {model.names}: it is "
            "not an exported ElmoLayer. To run it, use the class Elmo in "
            f"Python: Elmo({arguments.model!r})(sentences)"
        )
    model.names = ["elmo"]  # The others need not be computed.
    vectors = model(sentences)["elmo"]
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9
    others = [
        (i, j) for i, s in enumerate(sentences) if i for j in range(len(s))
    ]
    for word, vector in zip(sentences[0], vectors[0]):
        cosines = [vectors[place] @ vector for place in others]
        i, j = others[int(np.argmax(cosines))]
        print(f"{word:16} {sentences[i][j]:16} {max(cosines):.2f}")


if __name__ == "__main__":
    main()
