"""Embeds the proteins of a FASTA file with SeqVec, an ELMo for proteins.

    python examples/embed_fasta.py seqvec.zip proteins.fasta proteins.h5

Writes two arrays for each protein: `residues/NAME`, a vector for each residue,
and `mean/NAME`, their mean. NAME is the first word of the header and must be
unique. Letters are turned to upper case; gaps (`-`) and the stop sign (`*`) are
left out. The file need not fit into memory. docs/migrating/index.md has more.
"""

import argparse
import itertools

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import h5py

import keras_elmo


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", help="a biLM's folder or .zip")
    parser.add_argument("fasta", help="the proteins")
    parser.add_argument("output", help="the HDF5 file to write")
    arguments = parser.parse_args(argv)
    embedder = keras_elmo.ElmoEmbedder.from_preset(
        arguments.model, layers="sum"
    )
    number = 0
    with h5py.File(arguments.output, "w") as file:
        for name, vectors in embed_fasta(embedder, arguments.fasta):
            file[f"residues/{name}"] = vectors  # (residues, 1024)
            file[f"mean/{name}"] = vectors.sum(axis=0) / max(len(vectors), 1)
            number += 1
            if number % 1000 == 0:
                print(f"{number:,} proteins")
    print(f"{number:,} proteins in {arguments.output}")


def embed_fasta(embedder, path):
    """Yields the name and the vectors of each protein."""
    named, read = itertools.tee(read_fasta(path))
    embedded = embedder.embed_sentences(residues for _, residues in read)
    for (name, _), vectors in zip(named, embedded):
        yield name, vectors


def read_fasta(path):
    """Yields the name and the residues of each protein."""
    name, residues = "", []
    with open(path, encoding="utf-8-sig") as lines:
        for line in lines:
            if line.startswith(">"):
                if name:
                    yield name, residues
                name, residues = (line[1:].split() or [""])[0], []
            elif line.strip():
                if not name:
                    raise ValueError(f"No '>name' before {line!r} in '{path}'")
                residues.extend(filter(str.isalpha, line.upper()))
    if not name:
        raise ValueError(f"No protein at the end of '{path}'")
    yield name, residues


if __name__ == "__main__":
    main()
