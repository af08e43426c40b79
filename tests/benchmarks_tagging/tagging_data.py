"""Files with a few tagged sentences, and a biLM with random weights."""

import random

from small_models import make_elmo

PEOPLE = ["Ann", "Bob Lee", "Cy", "Dee Moss"]
PLACES = ["Rome", "New York", "Oslo"]
VERBS = ["met", "saw", "left"]


def sentence(generator):
    """Returns a list of (word, BIO tag, part of speech)."""
    rows = []
    for kind, choices in (("per", PEOPLE), (None, VERBS), ("loc", PLACES)):
        for i, word in enumerate(generator.choice(choices).split()):
            tag = f"{'I' if i else 'B'}-{kind}" if kind else "O"
            rows.append((word, tag, "PROPN" if kind else "VERB"))
    if generator.random() < 0.5:
        rows.append((".", "O", "PUNCT"))
    return rows


def to_conll(rows):
    return "".join(f"{word}\t{tag}\n" for word, tag, _ in rows) + "\t\n"


def to_conllu(rows):
    lines = ["# a comment"]
    for i, (word, _, tag) in enumerate(rows, start=1):
        lines.append(f"{i}\t{word}\t_\t{tag}" + "\t_" * 6)
    return "\n".join([*lines, "", ""])


def write_files(folder, to_text=to_conll, number=40):
    """Writes train, dev and test files; returns their paths."""
    ending = to_text.__name__.removeprefix("to_")
    paths = [folder / f"{name}.{ending}" for name in ("train", "dev", "test")]
    for seed, path in enumerate(paths):
        generator = random.Random(seed)
        rows = range(12 if seed else number)
        path.write_text("".join(to_text(sentence(generator)) for _ in rows))
    return paths


def write_bilm(folder):
    """Writes a biLM's files; returns their folder."""
    folder.mkdir()
    elmo = make_elmo()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder
