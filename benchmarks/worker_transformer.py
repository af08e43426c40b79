"""Runs a transformer with random weights in ONNX Runtime; see worker.py.

`worker_transformer.py SHAPE VOCABULARY_SIZE FILE [QUANTIZE]` writes the file,
which requires PyTorch and transformers. Running the file requires onnxruntime
and tokenizers.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from worker import Calls
from worker import answer_requests

# Published sizes: the class prefix in transformers, and its configuration.
SHAPES = {
    "BERT-base": (
        "Bert",
        {
            "hidden_size": 768,
            "num_hidden_layers": 12,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
        },
    ),
    "DistilBERT": (
        "DistilBert",
        {"dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072},
    ),
    "MiniLM-L6": (
        "Bert",
        {
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
        },
    ),
}


def prepare(folder, shape, tokenizer, exported, quantize=""):
    """Exports once, in another process, because this one must only run it."""
    if not os.path.exists(exported):
        size = str(_read_tokenizer(tokenizer).get_vocab_size())
        command = [sys.executable, __file__, shape, size, exported, quantize]
        subprocess.run(command, check=True, stdout=sys.stderr)


def load(folder, shape, tokenizer, exported, quantize=""):
    return Transformer(tokenizer, exported)


class Transformer:
    """Computes the vectors of the last layer, one per wordpiece."""

    def __init__(self, tokenizer, exported):
        import onnxruntime

        self._tokenizer = _read_tokenizer(tokenizer)
        self._session = onnxruntime.InferenceSession(exported)

    def vectors(self, sentences):
        encodings = self.encode(sentences)
        ids = np.array([x.ids for x in encodings])
        mask = np.array([x.attention_mask for x in encodings])
        (vectors,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": mask}
        )
        return [x[None, : m.sum()] for x, m in zip(vectors, mask)]

    def reset(self):
        pass

    def encode(self, sentences):
        """Returns wordpieces with [CLS] and [SEP], padded to equal length."""
        return self._tokenizer.encode_batch(sentences, is_pretokenized=True)


class TransformerCalls(Calls):
    """The requests of other workers, and the number of wordpieces."""

    def count_wordpieces(self, sentences):
        """Returns the count without [CLS], [SEP] and padding."""
        encodings = self._model.encode(sentences)
        return sum(sum(x.attention_mask) - 2 for x in encodings)


def _read_tokenizer(path):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    return tokenizer


def export(shape, vocabulary_size, path, quantize):
    """Writes the encoder as for deployment: fused, optionally quantized."""
    import onnx
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer

    with tempfile.TemporaryDirectory() as folder:
        plain = f"{folder}/plain.onnx"
        model, inputs = _export_plain(shape, vocabulary_size, plain)
        fused = optimizer.optimize_model(
            plain,
            "bert",
            num_heads=model.config.num_attention_heads,
            hidden_size=model.config.hidden_size,
        )
        operators = fused.get_fused_operator_statistics()
        print(shape, operators)
        if not operators["Attention"]:
            raise RuntimeError(f"{shape}: attention was not fused: {operators}")
        target = f"{folder}/fused.onnx" if quantize else path
        fused.save_model_to_file(target)
        _compare(target, model, inputs)
        if quantize:
            quantize_dynamic(
                target,
                path,
                per_channel=True,
                weight_type=QuantType.QInt8,
                # For fused operators, whose types ONNX cannot infer.
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )


def _export_plain(shape, vocabulary_size, path):
    """Exports with PyTorch; returns the module and its inputs."""
    import torch
    import transformers

    name, sizes = SHAPES[shape]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocabulary_size, attn_implementation="eager", **sizes
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Model")(config).eval()
    inputs = {
        "input_ids": torch.randint(0, vocabulary_size, (2, 9)),
        "attention_mask": torch.tensor([[1] * 9, [1] * 6 + [0] * 3]),
    }
    axes = {0: "batch", 1: "time"}
    torch.onnx.export(
        _LastLayer(model),
        tuple(inputs.values()),
        path,
        input_names=[*inputs],
        output_names=["vectors"],
        dynamic_axes=dict.fromkeys([*inputs, "vectors"], axes),
        dynamo=False,
    )
    return model, inputs


def _compare(path, model, inputs):
    """Raises an error unless the file and the module agree."""
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(path)
    feed = {name: x.numpy() for name, x in inputs.items()}
    (found,) = session.run(None, feed)
    with torch.no_grad():
        expected = model(**inputs).last_hidden_state.numpy()
    mask = feed["attention_mask"].astype(bool)
    np.testing.assert_allclose(found[mask], expected[mask], 1e-3, 1e-4)


def _LastLayer(model):
    import torch

    class LastLayer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            outputs = self.model(input_ids, attention_mask)
            return outputs.last_hidden_state

    return LastLayer().eval()  # Exporting restores this mode, also of `model`.


if __name__ == "__main__":
    if len(sys.argv) > 1:
        export(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
    else:
        answer_requests(TransformerCalls(load, prepare))
