"""The data sets of persons, places and organisations for `english_names`.

They are in one folder, as their authors publish them:

    UNER_English-EWT/en_ewt-ud-{train,dev,test}.iob2   Universal NER, web
    broad_twitter_corpus/{a,b,e,f,g,h}.conll           tweets
    wnut17/{train,dev,test}.conll                      WNUT 2017, social media
    UNER_English-PUD/en_pud-ud-test.iob2               Universal NER, news and
                                                       Wikipedia
    wikigold.conll.txt                                 Wikipedia

The last two are only for tests.
"""

import functools
import itertools

from keras_elmo.crf.tags import to_scheme

# Labels of all others become O, such as those of WNUT's products.
KINDS = {
    "PER": "PER",
    "person": "PER",
    "LOC": "LOC",
    "location": "LOC",
    "ORG": "ORG",
    "corporation": "ORG",
    "group": "ORG",
}
# Sections of the Broad Twitter Corpus; of the last, the second half is for dev.
TWEETS, LAST = "abeg", "h"


def read_training(folder):
    """Returns the sentences and tags to train on, and those of dev."""
    web, tweets, social = map(functools.partial(_path, folder), _SETS)
    half = read(tweets(LAST))
    middle = len(half) // 2
    train = [read(web("train")), *(read(tweets(x)) for x in TWEETS)]
    train += [half[:middle], read(social("train"))]
    dev = [read(web("dev")), half[middle:], read(social("dev"))]
    return [split(itertools.chain(*part)) for part in (train, dev)]


def read_tests(folder):
    """Returns the sentences and tags of each test file, by its name."""
    web, tweets, social = map(functools.partial(_path, folder), _SETS)
    wikipedia = folder / "UNER_English-PUD/en_pud-ud-test.iob2"
    return {
        "EWT": split(read(web("test"))),
        "Broad Twitter Corpus": split(read(tweets("f"))),
        "WNUT 2017": split(read(social("test"))),
        "PUD, news": split(read(wikipedia, "n")),
        "PUD, Wikipedia": split(read(wikipedia, "w")),
        "Wikigold": split(read(folder / "wikigold.conll.txt")),
    }


_SETS = (
    "UNER_English-EWT/en_ewt-ud-{}.iob2",
    "broad_twitter_corpus/{}.conll",
    "wnut17/{}.conll",
)


def _path(folder, pattern):
    return lambda name: folder / pattern.format(name)


def split(pairs):
    """Returns the list of sentences and the list of their tags."""
    return tuple(map(list, zip(*pairs)))


def read(path, prefix=None):
    """Returns the pairs of words and tags of each sentence in a file.

    Args:
        path: A `Path`; if it ends in .iob2, the first column has numbers.
        prefix: String: only sentences whose `sent_id` begins with it.
    """
    pairs, number = [], path.suffix == ".iob2"
    lines = path.read_text("utf-8").split("\n")
    for is_empty, block in itertools.groupby(lines, lambda x: not x.strip()):
        block = [*block]
        if is_empty or not any(map(_is_wanted(prefix), block)):
            continue
        words, tags = [], []
        for line in block:
            columns = line.split("\t" if "\t" in line else " ")
            is_comment = number and line.startswith("# ")
            if is_comment or columns[0] in ("", "-DOCSTART-"):
                continue
            word, tag = columns[number : number + 2]
            # The Broad Twitter Corpus takes a handle for an entity, or two.
            is_handle = "broad" in str(path) and words[-1:] == ["@"]
            is_handle = is_handle and tag != "O"
            if is_handle and (tags[-1] != "O" or tag == "B-PER"):
                words[-1] += word
                tags[-1] = "O"
                continue
            words.append(word)
            kind = KINDS.get(tag[2:])
            tags.append(f"{tag[:2]}{kind}" if kind else "O")
        if words:
            pairs.append((words, to_scheme(tags, "BIO")))
    return pairs


def _is_wanted(prefix):
    start = f"# sent_id = {prefix}"
    return lambda line: prefix is None or line.startswith(start)
