"""Maps the occurrences of a word in a treebank, coloured by part of speech.

    python benchmarks/occurrences.py work train.conllu dev.conllu \\
        --picture occurrences.png --output occurrences.json

The files are CoNLL-U. Each dot is one occurrence, and its colour is the UPOS
tag that the treebank gives it. Its place is that of its vector in the plane of
largest variance, which is computed without the tags, so that nothing but the
vectors can bring the colours apart. Below each map, and in the output, is how
many occurrences have the tag of their nearest neighbour by cosine, among all
other occurrences. A vector that is the same in every sentence has no nearest
neighbour.
"""

import collections

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import numpy as np
from program import begin_results
from program import make_parser
from program import write_results

import keras_elmo
from keras_elmo.text import read_conll

COLORS = {"NOUN": "#e07a3f", "VERB": "#1f6f8b"}


def main():
    arguments = parse_arguments()
    word, found = arguments.word, {}
    for path in arguments.treebanks:
        for words, tags in zip(*read_conll(path)):
            if word in words:  # A sentence that occurs twice counts once.
                found[tuple(words)] = tags
    vectors, tags = embed(arguments.model, word, found, arguments.tags)
    same = [share_of_same(layer, tags) for layer in vectors]
    counts = collections.Counter(tags.tolist())
    results = begin_results(
        model=arguments.model,
        word=word,
        sentences=len(found),
        counts=counts,
        nearest_has_same_tag=same,
    )
    write_results(arguments.output, results)
    draw(arguments.picture, word, vectors, tags, same)


def parse_arguments():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("word", help="its exact form, in lower or upper case")
    add("treebanks", nargs="+", help="CoNLL-U files")
    add("--model", default="english_mini", help="preset or folder")
    add("--tags", nargs=2, default=[*COLORS], help="UPOS tags to compare")
    add("--picture", required=True, help="PNG file to write")
    add("--output", required=True, help="JSON file to write")
    return parser.parse_args()


def embed(model, word, found, names):
    """Returns unit vectors (layers, occurrences, width), and the tags."""
    embedder = keras_elmo.ElmoEmbedder.from_preset(model, layers="all")
    vectors, kept = [], []
    for (words, tags), layers in zip(
        found.items(), embedder.embed_sentences([list(x) for x in found])
    ):
        for k, tag in enumerate(tags):
            if words[k] == word and tag in names:
                vectors.append(layers[:, k])
                kept.append(tag)
    stacked = np.stack(vectors, axis=1)
    stacked /= np.linalg.norm(stacked, axis=-1, keepdims=True)
    return stacked, np.array(kept)


def share_of_same(vectors, tags):
    """Returns the share whose nearest neighbour has the same tag."""
    cosines = vectors @ vectors.T
    if cosines.min() > 1 - 1e-5:
        return None  # All vectors are equal.
    np.fill_diagonal(cosines, -np.inf)
    return float(np.mean(tags[cosines.argmax(axis=1)] == tags))


def draw(path, word, vectors, tags, same):
    """Draws each layer in its plane of largest variance, at one scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    centred = vectors - vectors.mean(axis=1, keepdims=True)
    planes = np.linalg.svd(centred, full_matrices=False)[2][:, :2]
    points = centred @ planes.swapaxes(1, 2)  # (layers, occurrences, 2)
    limit = 1.1 * np.abs(points).max()
    figure, axes = plt.subplots(
        1, len(points), figsize=(6.6, 3.4), layout="constrained"
    )
    # In random order, so that no colour covers the other.
    order = np.random.default_rng(0).permutation(len(tags))
    names, numbers = np.unique(tags, return_inverse=True)
    colors = np.array([*COLORS.values()])
    for layer, (ax, xy, share) in enumerate(zip(axes, points, same)):
        ax.scatter(*xy[order].T, s=9, c=colors[numbers[order]], alpha=0.6, lw=0)
        ax.set_title(f"layer {layer}", fontsize=13)
        nearest = f"nearest has the\nsame tag: {share or 0:.0%}"
        ax.set_xlabel(
            nearest if share else "all vectors\nare equal", fontsize=11
        )
        ax.set(xticks=[], yticks=[], xlim=(-limit, limit), ylim=(-limit, limit))
        ax.spines[:].set_color("0.8")
    labels = [f"{x} ({n})" for x, n in zip(names, np.bincount(numbers))]
    handles = [
        plt.Line2D([], [], marker="o", linestyle="", color=color)
        for color in colors
    ]
    figure.legend(
        *(handles, labels),
        title=f'occurrences of "{word}" by their tag in the treebank',
        loc="outside lower center",
        ncols=2,
        frameon=False,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main()
