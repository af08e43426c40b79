"""The tagger: words, characters and ELMo, a BiLSTM, a CRF.

    x = [word; characters; ELMo]        ELMo at the input
    h = BiLSTM(x)
    y = CRF(Dense([h; ELMo]))           ELMo at the output

It has two parts, so that the second can be trained on vectors that the first
has computed once:

    biLM:    character ids -> its layers
    head:    character ids, the layers -> their mixes, and all of the above
"""

import dataclasses

import keras
from keras import ops
from word_layers import CharacterBiLSTM
from word_layers import WordNumbers

import keras_elmo

ELMO_AT = ("none", "input", "output", "both")


@dataclasses.dataclass(frozen=True)
class Design:
    """The options of a tagger; `train.py --help` explains each."""

    elmo_at: str = "both"
    mix: str = "learned"
    mix_l2: float = 0.0
    words: bool = True
    characters: bool = True
    word_dim: int = 100
    character_units: int = 25
    units: int = 100
    dropout: float = 0.5
    elmo_dropout: float = 0.5

    @property
    def elmo_places(self):
        """Where ELMo enters."""
        places = ("input", "output")
        return [p for p in places if self.elmo_at in (p, "both")]


def load_bilm(preset, fine_tune=False):
    """Loads a biLM that returns all layers: `(batch, layers, time, width)`."""
    return keras_elmo.ElmoLayer.from_preset(
        preset, return_all_layers=True, trainable=fine_tune, name="bilm"
    )


def vectorization_of(bilm=None):
    """Returns the layer that maps words to the ids of a biLM or tagger."""
    if bilm is None:
        return keras_elmo.WordVectorization()
    return bilm.token_encoder.make_vectorization()


def build_head(design, tag_names, scheme, words, bilm=None, vectors=None):
    """Builds the trained part of a tagger.

    Args:
        design: A `Design`.
        tag_names: Strings, the tags.
        scheme: `"BIO"`, `"BIOES"` or `None`: the scheme that the `CRF` follows.
        words: Strings, the vocabulary of the word embedding.
        bilm: The result of `load_bilm`; not needed without ELMo.
        vectors: Array `(words, word_dim)`, pretrained vectors of `words`.

    Returns:
        A model from `[character ids, layer 0, layer 1, ...]`, or without ELMo
        from character ids, to the scores of a `CRF`.
    """
    spelling = vectorization_of(bilm).spelling
    reads_bytes = isinstance(spelling, keras_elmo.text.ByteSpelling)
    if not reads_bytes and (design.words or design.characters):
        raise ValueError(
            "A biLM with its own vocabulary of characters or words must be "
            "used without word and character embeddings: pass --no-words "
            "--no-characters."
        )
    width = spelling.token_shape[0]
    ids = keras.Input((None, width), dtype="int32", name="ids")
    mask = ops.any(ops.not_equal(ids, 0), axis=-1)  # (batch, time)
    inputs, elmo = [ids], {}
    if design.elmo_places:
        _, num_layers, _, size = bilm.compute_output_shape((None, None, width))
        layers = [
            keras.Input((None, size), name=f"layer_{k}")
            for k in range(num_layers)
        ]
        inputs.extend(layers)
        for place in design.elmo_places:
            mix = _make_mix(design, num_layers, f"mix_{place}")
            dropout = keras.layers.Dropout(design.elmo_dropout)
            elmo[place] = dropout(mix(layers))  # (batch, time, size)

    x = []
    if design.words:
        numbers = WordNumbers(words)
        embedding = keras.layers.Embedding(
            numbers.num_words, design.word_dim, name="words"
        )
        x.append(embedding(numbers(ids)))
        if vectors is not None:
            table = ops.convert_to_numpy(embedding.embeddings).copy()
            table[2:] = vectors
            embedding.embeddings.assign(table)
    if design.characters:
        x.append(CharacterBiLSTM(design.character_units)(ids))
    if x:
        x = [keras.layers.Dropout(design.dropout)(_joined(x))]
    x = _joined(x + [elmo[place] for place in elmo if place == "input"])
    if design.units:
        lstm = keras.layers.LSTM(design.units, return_sequences=True)
        x = keras.layers.Bidirectional(lstm, name="bilstm")(x, mask=mask)
        x = keras.layers.Dropout(design.dropout)(x)
    x = _joined([x] + [elmo[place] for place in elmo if place == "output"])
    potentials = keras.layers.Dense(len(tag_names), name="potentials")(x)
    crf = keras_elmo.CRF(
        len(tag_names), tag_names=tag_names, scheme=scheme, name="crf"
    )
    inputs = inputs if elmo else ids
    return keras.Model(inputs, crf(potentials, mask=mask), name="head")


def join(head, bilm=None):
    """Builds the whole model from ids to scores, with the same weights."""
    if len(head.inputs) == 1:
        return head
    ids = keras.Input(head.inputs[0].shape[1:], dtype="int32", name="ids")
    stacked = bilm(ids)  # (batch, layers, time, size)
    layers = [stacked[:, k] for k in range(stacked.shape[1])]
    return keras.Model(ids, head([ids, *layers]), name="tagger_scores")


def with_tags(model, tag_names):
    """Builds a model that returns tags, not scores, with the same weights."""
    decoder = keras_elmo.CRFDecoder(tag_names=tag_names, name="tags")
    return keras.Model(model.input, decoder(model.output), name="tagger")


def mix_weights(head):
    """Returns what each mix has learned: the layer weights, and gamma."""
    learned = {}
    for place in ("input", "output"):
        name = f"mix_{place}"
        if name in {layer.name for layer in head.layers}:
            weights, gamma = head.get_layer(name).normalized_weights
            learned[place] = {
                "weights": [float(w) for w in weights],
                "gamma": float(gamma),
            }
    return learned


def _make_mix(design, num_layers, name):
    """Returns a learned mix, or one that learns only the factor `gamma`."""
    if design.mix == "learned":
        return keras_elmo.ScalarMix(l2=design.mix_l2, name=name)
    if design.mix == "average":
        weights = [1 / num_layers] * num_layers
    else:
        layer = num_layers - 1 if design.mix == "top" else int(design.mix)
        if not 0 <= layer < num_layers:
            raise ValueError(
                f"`mix` must be one of {num_layers} layers, numbered from 0. "
                f"Received: mix={design.mix!r}"
            )
        weights = [float(k == layer) for k in range(num_layers)]
    return keras_elmo.ScalarMix(fixed_weights=weights, name=name)


def _joined(parts):
    if not parts:
        raise ValueError(
            "The tagger must have words, characters or ELMo as input."
        )
    if len(parts) == 1:
        return parts[0]
    return keras.layers.Concatenate()(parts)
