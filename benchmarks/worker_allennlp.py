"""Runs AllenNLP's ELMo; see worker.py."""

import numpy as np
import torch
from allennlp.data.token_indexers.elmo_indexer import ELMoCharacterMapper
from allennlp.modules.elmo import Elmo
from worker import serve


def load(folder, trainable=False):
    elmo = Elmo(
        f"{folder}/options.json",
        f"{folder}/weights.hdf5",
        1,
        dropout=0,
        requires_grad=trainable,
    )
    return AllenNLP(elmo.train(trainable))


class AllenNLP:
    def __init__(self, elmo):
        self._elmo = elmo
        self._bilm = elmo._elmo_lstm
        self._optimizer = torch.optim.SGD(elmo.parameters(), lr=0.1)

    def vectors(self, sentences):
        with torch.no_grad():
            layers = self._bilm(batch_to_ids(sentences))["activations"]
        # (batch, layers, bounded time, width)
        vectors = np.stack([layer.numpy() for layer in layers], axis=1)
        return [x[:, 1 : len(s) + 1] for x, s in zip(vectors, sentences)]

    def reset(self):
        # The states are carried from batch to batch.
        self._bilm._elmo_lstm.reset_states()

    def train(self, sentences):
        self._optimizer.zero_grad()
        output = self._elmo(batch_to_ids(sentences))
        loss = output["elmo_representations"][0].square().mean()
        loss.backward()
        self._optimizer.step()
        return loss.item()


def batch_to_ids(sentences):
    """Returns AllenNLP's ids, without using its data sets and fields."""
    time = max(map(len, sentences))
    width = ELMoCharacterMapper.max_word_length
    to_ids = ELMoCharacterMapper().convert_word_to_char_ids
    ids = np.zeros((len(sentences), time, width), dtype="int64")
    for row, words in zip(ids, sentences):
        row[: len(words)] = [to_ids(word) for word in words]
    return torch.from_numpy(ids)


if __name__ == "__main__":
    serve(load)
