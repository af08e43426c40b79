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


def write_columns(path, number, seed):
    generator = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(number):
            for word, tag, _ in sentence(generator):
                file.write(f"{word}\t{tag}\n")
            file.write("\t\n")


def write_conllu(path, number, seed):
    generator = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(number):
            file.write("# a comment\n")
            for i, (word, _, tag) in enumerate(sentence(generator), start=1):
                file.write(f"{i}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n")
            file.write("\n")


def write_files(folder, write=write_columns, ending="conll", number=40):
    """Writes train, dev and test files; returns their paths."""
    paths = [folder / f"{name}.{ending}" for name in ("train", "dev", "test")]
    for seed, path in enumerate(paths):
        write(path, number if seed == 0 else 12, seed)
    return paths


def write_bilm(folder):
    """Writes a biLM's files; returns their folder."""
    folder.mkdir()
    elmo = make_elmo()
    elmo.save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder
