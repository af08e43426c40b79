"""Runs other packages; see worker.py, and README.md for how to install them.

`peer_worker.py SHAPE VOCABULARY_SIZE FILE [QUANTIZE]` exports a transformer.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import numpy as np
import worker

# Published sizes: the class prefix in transformers, and its configuration.
_BERT = ("hidden_size", "num_hidden_layers", "num_attention_heads",
         "intermediate_size")  # fmt: skip
_DISTILBERT = ("dim", "n_layers", "n_heads", "hidden_dim")
SHAPES = {
    "BERT-base": ("Bert", dict(zip(_BERT, (768, 12, 12, 3072)))),
    "DistilBERT": ("DistilBert", dict(zip(_DISTILBERT, (768, 6, 12, 3072)))),
    "MiniLM-L6": ("Bert", dict(zip(_BERT, (384, 6, 12, 1536)))),
}
# So many tokens that bilm-tf's training never ends, saves and exits.
ENDLESS = 10**12


def load(folder, kind, **options):
    return KINDS[kind](folder, **options)


class AllenNLP:
    def __init__(self, folder, trainable=False):
        import torch
        from allennlp.modules.elmo import Elmo

        elmo = Elmo(
            f"{folder}/options.json",
            f"{folder}/weights.hdf5",
            1,
            dropout=0,
            requires_grad=trainable,
        )
        self._elmo = elmo.train(trainable)
        self._bilm = elmo._elmo_lstm
        self._optimizer = torch.optim.SGD(elmo.parameters(), lr=0.1)

    def vectors(self, sentences):
        import torch

        with torch.no_grad():
            layers = self._bilm(self._ids(sentences))["activations"]
        # (batch, layers, bounded time, width)
        vectors = np.stack([layer.numpy() for layer in layers], axis=1)
        return [x[:, 1 : len(s) + 1] for x, s in zip(vectors, sentences)]

    def reset(self):
        # The states are carried from batch to batch.
        self._bilm._elmo_lstm.reset_states()

    def train(self, sentences):
        self._optimizer.zero_grad()
        output = self._elmo(self._ids(sentences))
        loss = output["elmo_representations"][0].square().mean()
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def _ids(self, sentences):
        """Returns AllenNLP's ids, without using its data sets and fields."""
        import torch
        from allennlp.data.token_indexers import elmo_indexer

        to_ids = elmo_indexer.ELMoCharacterMapper().convert_word_to_char_ids
        shape = (len(sentences), max(map(len, sentences)), len(to_ids("a")))
        ids = np.zeros(shape, "int64")
        for row, words in zip(ids, sentences):
            row[: len(words)] = [to_ids(word) for word in words]
        return torch.from_numpy(ids)


def load_bilm_tf(folder):
    """Its Batcher and its biLM, in one session that is kept open."""
    import tensorflow.compat.v1 as tf
    from bilm import Batcher
    from bilm import BidirectionalLanguageModel

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as vocabulary:
        vocabulary.write("<S>\n</S>\n<UNK>\n")
        vocabulary.flush()
        batcher = Batcher(vocabulary.name, 50)
    ids = tf.placeholder("int32", (None, None, 50))
    bilm = BidirectionalLanguageModel(
        f"{folder}/options.json", f"{folder}/weights.hdf5"
    )
    output = bilm(ids)["lm_embeddings"]
    session, reset = open_session()

    def vectors(sentences):
        feed = {ids: batcher.batch_sentences(sentences)}
        layers = session.run(output, feed)
        return [x[:, : len(s)] for x, s in zip(layers, sentences)]

    return types.SimpleNamespace(vectors=vectors, reset=reset)


def load_simple_elmo(folder):
    """Its get_elmo_vectors without warm-up, in a session that is kept open."""
    import logging

    from simple_elmo import ElmoModel
    from simple_elmo import weight_layers

    logging.disable(logging.INFO)
    model = ElmoModel()
    model.load(folder, max_batch_size=128)
    # What get_elmo_vectors does itself if it is given no session.
    model.elmo_sentence_input = weight_layers(
        "input", model.sentence_embeddings_op, use_layers="all"
    )
    session, reset = open_session()

    def vectors(sentences):
        layers = model.get_elmo_vectors(
            sentences, warmup=False, layers="all", session=session
        ).astype("float32")
        return [x[:, : len(s)] for x, s in zip(layers, sentences)]

    return types.SimpleNamespace(vectors=vectors, reset=reset)


def open_session():
    """Initialises the graph; returns its session and a function to reset it."""
    import tensorflow.compat.v1 as tf

    # The states that bilm-tf carries from batch to batch are unnamed.
    states = [
        variable
        for variable in tf.global_variables()
        if variable.op.name.startswith("bilm/Variable")
    ]
    to_zero = tf.variables_initializer(states)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session, lambda: session.run(to_zero)


class Transformer:
    """Computes the vectors of the last layer, one per wordpiece."""

    def __init__(self, folder, shape, tokenizer, exported, quantize=""):
        import onnxruntime
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(tokenizer)
        self._tokenizer.no_truncation()
        self._tokenizer.enable_padding()
        if not os.path.exists(exported):
            # In another process, as this one must only run what is exported.
            size = str(self._tokenizer.get_vocab_size())
            command = [__file__, shape, size, exported, quantize]
            subprocess.run(
                [sys.executable, *command], check=True, stdout=sys.stderr
            )
        self._session = onnxruntime.InferenceSession(exported)

    def vectors(self, sentences):
        encodings = self.encode(sentences)
        ids = np.array([x.ids for x in encodings])
        mask = np.array([x.attention_mask for x in encodings])
        feed = {"input_ids": ids, "attention_mask": mask}
        (vectors,) = self._session.run(None, feed)
        return [x[None, : m.sum()] for x, m in zip(vectors, mask)]

    def encode(self, sentences):
        """Returns wordpieces with [CLS] and [SEP], padded to equal length."""
        return self._tokenizer.encode_batch(sentences, is_pretokenized=True)


KINDS = {
    "AllenNLP": AllenNLP,
    "bilm-tf": load_bilm_tf,
    "simple_elmo": load_simple_elmo,
    "transformer": Transformer,
}


def export_transformer(shape, vocabulary_size, path, quantize=""):
    """Writes an encoder as for deployment: fused, optionally quantized."""
    import onnx
    import onnxruntime
    import torch
    import transformers
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer

    name, sizes = SHAPES[shape]
    size = int(vocabulary_size)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=size, attn_implementation="eager", **sizes
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Model")(config).eval()
    mask = torch.tensor([[1] * 9, [1] * 6 + [0] * 3])
    inputs = {
        "input_ids": torch.randint(0, size, mask.shape),
        "attention_mask": mask,
    }

    class LastLayer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids, attention_mask).last_hidden_state

    with tempfile.TemporaryDirectory() as folder:
        plain = f"{folder}/plain.onnx"
        torch.onnx.export(
            LastLayer(),
            tuple(inputs.values()),
            plain,
            input_names=[*inputs],
            output_names=["vectors"],
            dynamic_axes={
                name: {0: "batch", 1: "time"} for name in (*inputs, "vectors")
            },
            dynamo=False,
        )
        fused = optimizer.optimize_model(
            plain,
            "bert",
            num_heads=config.num_attention_heads,
            hidden_size=config.hidden_size,
        )
        if not fused.get_fused_operator_statistics()["Attention"]:
            raise RuntimeError(f"{shape}: attention was not fused")
        target = f"{folder}/fused.onnx" if quantize else path
        fused.save_model_to_file(target)
        feed = {name: x.numpy() for name, x in inputs.items()}
        (found,) = onnxruntime.InferenceSession(target).run(None, feed)
        with torch.no_grad():
            expected = LastLayer()(*inputs.values()).numpy()
        real = mask.numpy() > 0
        np.testing.assert_allclose(found[real], expected[real], 1e-3, 1e-4)
        if quantize:
            quantize_dynamic(
                target,
                path,
                per_channel=True,
                weight_type=QuantType.QInt8,
                # For fused operators, whose types ONNX cannot infer.
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )


class PeerCalls(worker.Calls):
    """The requests of all programs, and those to single peers."""

    def count_wordpieces(self, sentences):
        """Returns the count without [CLS], [SEP] and padding."""
        encodings = self._model.encode(sentences)
        return sum(sum(x.attention_mask) - 2 for x in encodings)

    def train_bilm_tf(self, train, vocabulary, options, updates):
        """Returns the seconds of the next updates of bilm-tf's own training."""
        if not hasattr(self, "_data"):
            self._data = _PausedData(train, vocabulary, options)
        start = time.perf_counter()
        for _ in range(updates):
            self._data.run_update()
        return time.perf_counter() - start


class _PausedData:
    """The data of a training in a thread, which waits for each batch."""

    def __init__(self, train, vocabulary, options):
        from bilm.data import BidirectionalLMDataset
        from bilm.training import load_vocab

        with open(options) as file:
            self._options = json.load(file)
        self._options["n_train_tokens"] = ENDLESS
        width = self._options["char_cnn"]["max_characters_per_token"]
        self._dataset = BidirectionalLMDataset(
            train, load_vocab(vocabulary, width), False, shuffle_on_load=True
        )
        self._may_go, self._waits = threading.Semaphore(0), threading.Event()
        threading.Thread(target=self._train, daemon=True).start()
        self._waits.wait()

    def run_update(self):
        self._waits.clear()
        self._may_go.release()
        self._waits.wait()

    def iter_batches(self, *arguments):
        for batch in self._dataset.iter_batches(*arguments):
            self._waits.set()
            self._may_go.acquire()
            yield batch

    def _train(self):
        from bilm.training import train

        try:
            with tempfile.TemporaryDirectory() as folder:
                train(self._options, self, 1, folder, folder)
        finally:  # The log says why.
            traceback.print_exc()
            os._exit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        export_transformer(*sys.argv[1:])
    else:
        worker.answer_requests(PeerCalls(load))
