"""Times AllenNLP's ELMo; see worker.py for how it is driven."""

import torch
from allennlp.modules.elmo import Elmo
from worker import serve


def load(folder):
    elmo = Elmo(
        f"{folder}/options.json", f"{folder}/weights.hdf5", 1, dropout=0
    )
    elmo.eval()

    def call(ids):
        with torch.no_grad():
            output = elmo(torch.from_numpy(ids).long())
        return output["elmo_representations"][0].numpy()

    return call


if __name__ == "__main__":
    serve(load)
