"""Calibration: probabilities that are as high as a tagger is often right."""

import keras
import numpy as np
from keras import ops

from keras_elmo.crf import linear_chain
from keras_elmo.crf.crf import CRF
from keras_elmo.crf.tags import entities
from keras_elmo.crf.tags import entity_tags
from keras_elmo.ops.compiled import Compiled

_TEMPERATURES = np.geomspace(0.5, 4, 13)
# The standard deviation of the prior of log(temperature): a few sentences to
# validate on, all of them right, do not show that a tagger is always right.
_PRIOR = 0.5


def calibrate(head, batches, labels, scheme):
    """Divides a head's scores by the temperature that suits sentences best.

    The loss is the log loss of the probability of each entity that the best
    tags mark (without a scheme: of each word's best tag) to be right. The best
    tags remain the same, as all scores of a sentence are divided.

    Args:
        head: A model of vectors and a mask, that ends in `Dense` and `CRF`.
        batches: The `TaggedBatches` of the sentences.
        labels: List of strings, the labels in order.
        scheme: Their scheme, or `None`.

    Returns:
        The temperature, a number.

    Reference:
        Guo et al. 2017, [On Calibration of Modern Neural
        Networks](https://arxiv.org/abs/1706.04599)
    """

    def tags_and_probabilities(vectors, mask, temperature):
        scores = head([vectors, mask])
        cliques = ops.divide(scores[:, :, :-1], temperature)
        scores = ops.concatenate([cliques, scores[:, :, -1:]], axis=2)
        tags = linear_chain.best_tags(scores)
        if scheme:
            found = linear_chain.entity_probabilities(
                scores, tags, entity_tags(labels)
            )
            return tags, found[0]
        found = linear_chain.marginals(scores)
        found = ops.take_along_axis(found, tags[..., None], axis=2)
        return tags, found[..., 0]

    compiled = Compiled(tags_and_probabilities, head, [(16, 8), (16, 8), ()])

    def predict(temperature, i):
        temperature = np.float32([temperature])
        return batches.predict(lambda *x: compiled(*x, temperature)[i])

    items = []  # The sentence, the position, and whether it is right.
    for i, (numbers, tags) in enumerate(zip(predict(1, 0), batches.tags)):
        found = [labels[number] for number in numbers]
        spans = entities if scheme else enumerate
        right = {*spans(tags)}
        items += [(i, span[0], span in right) for span in spans(found)]
    if not items:
        return 1.0
    logs, losses = np.log(_TEMPERATURES), []
    for temperature, log in zip(_TEMPERATURES, logs):
        rows = predict(temperature, 1)
        found = np.array([rows[i][k] for i, k, _ in items], "float64")
        right = np.array([is_right for *_, is_right in items])
        found = np.clip(np.where(right, found, 1 - found), 1e-6, None)
        losses.append(-np.log(found).sum() + (log / _PRIOR) ** 2 / 2)
    k = int(np.argmin(losses))
    best = float(_TEMPERATURES[k])
    if 0 < k < len(losses) - 1:  # The minimum of a parabola.
        near = slice(k - 1, k + 2)
        a, b, _ = np.polyfit(logs[near], losses[near], 2)
        best = float(np.exp(-b / (2 * a)))
    divide_scores(head, best)
    return best


def divide_scores(model, temperature):
    """Divides the scores of a model that ends in `Dense` and `CRF`."""
    for layer in model.layers:
        if isinstance(layer, (keras.layers.Dense, CRF)):
            layer.set_weights([x / temperature for x in layer.get_weights()])
