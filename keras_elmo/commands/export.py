"""Exports a model for use without this package: as a SavedModel that takes
strings, for TensorFlow Serving and any other program that loads SavedModels;
or as an ONNX file that takes character ids, for onnxruntime.

MODEL may also be a .keras file of any Keras model whose input is character ids,
such as a tagger with an ElmoLayer; or the name of a tagger in the package. Its
labels are exported with it if it ends in a CRFDecoder with tag_names, as every
tagger of keras-elmo train-tagger does. Those of other models are not in their
files: pass them in Python, to keras_elmo.export_saved_model or export_onnx.

OUTPUT is the folder to write. TensorFlow Serving takes folders whose names are
version numbers, and serves the last one under the name of the folder around
them: served/elmo/1, and later served/elmo/2, are versions of the model elmo.
If OUTPUT ends in .onnx, it is the ONNX file. Both are written atomically.

[options]

signatures, from which a request chooses one:
  default        sentences, which are split only on white space: tokenise them
                 first, and keep the case
  tokens         words, one row per sentence, padded with "", and the number of
                 words in each row
  character_ids  the ids that keras_elmo.batch_to_ids returns, or for an
                 ELMoForManyLangs model batch_to_ids of make_vectorization()

outputs:
  For an ElmoLayer, those of TF-Hub's google/elmo/3: word_emb, lstm_outputs1,
  lstm_outputs2, ..., elmo (the mix) and default (its mean over the words). For
  a .keras file, the model's own.

examples:
  keras-elmo export english_mini served/elmo/1
  keras-elmo export tagger.keras served/tagger/1
  keras-elmo export english_mini elmo.onnx --quantize int8
"""

from keras_elmo.checks import argument_name
from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.choices import SIGNATURES
from keras_elmo.commands.arguments import add_model_arguments
from keras_elmo.commands.export_summary import print_onnx_summary
from keras_elmo.commands.export_summary import print_summary

SUMMARY = "write a SavedModel for TensorFlow Serving, or an ONNX file"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo export`."""
    add = parser.add_argument
    add_model_arguments(add)
    add("output", metavar="OUTPUT", help="the folder to write; or a .onnx file")
    add("--overwrite", action="store_true", help="replace OUTPUT if it exists")

    add = parser.add_argument_group("for a SavedModel").add_argument
    add(
        "--serving-default",
        choices=SIGNATURES,
        help="the signature for requests that name none. Default: default",
    )
    add(
        "--dtype",
        choices=COMPUTE_DTYPES,
        help="dtype to compute in; not for a .keras file, which has its own. "
        "Float outputs are always float32. Default: float32, or the dtype in "
        "the folder",
    )

    add = parser.add_argument_group("for an ONNX file").add_argument
    add(
        "--quantize",
        choices=[name for name in QUANTIZATIONS if name],
        help="int8 stores the large weight matrices in 8 bits, a quarter of "
        "their size. On processors with AVX-512 VNNI or similar, single "
        "sentences are faster, too: four times, with a model of the original "
        "size",
    )


def run(arguments):
    """Runs `keras-elmo export`."""
    from keras_elmo.layers.elmo_layer import ElmoLayer
    from keras_elmo.models.find_model import find_model
    from keras_elmo.onnx.export_onnx import export_onnx
    from keras_elmo.ops.backends import backend
    from keras_elmo.serving.export_saved_model import export_saved_model

    is_onnx = arguments.output.endswith(".onnx")
    _check_format(arguments, is_onnx)
    if not is_onnx and not backend().has_strings:
        raise ValueError(
            "Exporting a SavedModel needs the Keras backend tensorflow: set "
            f"KERAS_BACKEND=tensorflow. Received: {backend().name}"
        )
    found = find_model(arguments.model, arguments.weights, names=None)
    model = found.load_for_export(ElmoLayer, arguments.dtype)
    path, overwrite = arguments.output, arguments.overwrite
    if is_onnx:
        export_onnx(
            model, path, quantize=arguments.quantize, overwrite=overwrite
        )
        print_onnx_summary(path)
        return
    default = arguments.serving_default or "default"
    export_saved_model(
        model, path, serving_default=default, overwrite=overwrite
    )
    print_summary(path)


def _check_format(arguments, is_onnx):
    """Raises `ValueError` if an argument is for the other format."""
    other, must, names = "an ONNX file", "must", ["quantize"]
    if is_onnx:
        other, must = "a SavedModel", "must not"
        names = ["serving_default", "dtype"]
    for name in names:
        if getattr(arguments, name):
            raise ValueError(
                f"{argument_name(name)} is for {other}: OUTPUT {must} end in "
                f".onnx. Received: {arguments.output}"
            )
