import argparse

from keras_elmo.choices import COMPUTE_DTYPES
from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.choices import SIGNATURES
from keras_elmo.commands.arguments import positive_integer
from keras_elmo.commands.export_summary import print_onnx_summary
from keras_elmo.commands.export_summary import print_summary
from keras_elmo.models.presets import PRESETS

_DESCRIPTION = """\
Exports a model for programs that do not need this package: as a SavedModel
that takes strings, for TensorFlow Serving and any other program that loads
one; or as an ONNX file that takes character ids, for onnxruntime.

MODEL is a preset's name, a folder of save_to_preset or of keras-elmo pretrain,
a folder or .zip with options.json and one .hdf5 or of ELMoForManyLangs, or an
options file with --weights. Or it is a .keras file: any Keras model whose
input is character ids, such as a tagger with an ElmoLayer inside.

OUTPUT is the model's folder on the server, and its name is the model's name.
The first SavedModel is OUTPUT/1, the next OUTPUT/2; a server that watches
OUTPUT switches to it. An OUTPUT that ends in .onnx is the ONNX file. Both are
written atomically.
"""

_EPILOG = """\
signatures, which a request chooses from:
  default        sentences, which are split on runs of spaces (U+0020) only:
                 tokenise them before, and keep the case
  tokens         words, one row for each sentence, padded with "", and the
                 number of words in each row
  character_ids  what keras_elmo.batch_to_ids makes; of a model of
                 ELMoForManyLangs, the batch_to_ids of its make_vectorization()

outputs:
  of an ElmoLayer, those of TF-Hub's google/elmo/3: word_emb, lstm_outputs1,
  lstm_outputs2, ..., elmo (the mix) and default (its mean over the words); of a
  .keras file, the model's own.

examples:
  keras-elmo export english_tiny served/elmo
  keras-elmo export tagger.keras served/tagger --labels tags=tags.txt
  keras-elmo export small elmo.onnx --quantize int8
"""


def add_parser(verbs):
    """Adds the verb's arguments to those of `keras-elmo`."""
    parser = verbs.add_parser(
        "export",
        help="write a SavedModel for TensorFlow Serving, or an ONNX file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help=f"a folder, a .zip, a .keras file, or one of {', '.join(PRESETS)}",
    )
    add(
        "output",
        metavar="OUTPUT",
        help="the folder of the model's versions, or a file .onnx",
    )
    add(
        "--weights",
        metavar="FILE",
        help="the weights (.hdf5), where MODEL is an options file",
    )

    add = parser.add_argument_group("of a SavedModel").add_argument
    add(
        "--serving-default",
        choices=SIGNATURES,
        default="default",
        help="the signature of requests that name none. Default: %(default)s",
    )
    add(
        "--labels",
        type=_name_and_file,
        action="append",
        default=[],
        metavar="OUTPUT=FILE",
        help="of a .keras file: the names of an output's labels, one a line, "
        "from number 0 on. They come out as OUTPUT_labels. May be given again",
    )
    add(
        "--dtype",
        choices=COMPUTE_DTYPES,
        help="to compute in; not for a .keras file, which has its own. Floats "
        "come out in float32. Default: float32, or what the folder says",
    )
    add(
        "--version",
        type=positive_integer,
        metavar="N",
        help="write OUTPUT/N. Default: the one after the last",
    )
    add(
        "--overwrite",
        action="store_true",
        help="replace the version N that is there",
    )

    add = parser.add_argument_group("of an ONNX file").add_argument
    add(
        "--quantize",
        choices=[name for name in QUANTIZATIONS if name],
        help="int8 makes the large weights 8 bits each: a quarter of the "
        "size, and several times faster for single sentences",
    )


def run(arguments):
    """Runs `keras-elmo export`."""
    if arguments.output.endswith(".onnx"):
        _export_onnx(arguments)
    else:
        _export_saved_model(arguments)


def _export_onnx(arguments):
    from keras_elmo.models.find_model import find_model
    from keras_elmo.onnx.export_onnx import export_onnx

    for name, is_given in {
        "serving-default": arguments.serving_default != "default",
        "labels": arguments.labels,
        "dtype": arguments.dtype,
        "version": arguments.version,
        "overwrite": arguments.overwrite,
    }.items():
        if is_given:
            raise ValueError(
                f"--{name} is of a SavedModel, not of an ONNX file."
            )
    model = find_model(arguments.model, arguments.weights)
    elmo = model.load_for_export(None)
    export_onnx(elmo, arguments.output, arguments.quantize)
    print_onnx_summary(arguments.output)


def _export_saved_model(arguments):
    from keras_elmo.models.find_model import find_model
    from keras_elmo.serving import export_saved_model

    _check(arguments)
    labels = _read_labels(arguments.labels)
    model = find_model(arguments.model, arguments.weights)
    folder = export_saved_model(
        model.load_for_export(arguments.dtype),
        arguments.output,
        serving_default=arguments.serving_default,
        labels=labels,
        version=arguments.version,
        overwrite=arguments.overwrite,
    )
    print_summary(folder)


def _check(arguments):
    """Raises what errors can be found before a model is loaded."""
    import keras

    from keras_elmo.serving.version_folders import version_folder

    if arguments.quantize:
        raise ValueError(
            "--quantize is of an ONNX file: OUTPUT must end in .onnx. "
            f"Received: {arguments.output}"
        )
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "A SavedModel is TensorFlow's: export with Keras' backend "
            f"tensorflow. Received: {keras.backend.backend()}"
        )
    if arguments.overwrite and arguments.version is None:
        raise ValueError(
            "--overwrite replaces one version: say which by --version N."
        )
    version_folder(arguments.output, arguments.version, arguments.overwrite)


def _read_labels(pairs):
    """Returns a dictionary from the outputs' names to the labels'."""
    from keras_elmo.text.corpora import listed_lines

    labels = {}
    for name, path in pairs:
        if name in labels:
            raise ValueError(
                "--labels must be given once for each output. "
                f"Received: '{name}' twice"
            )
        labels[name] = list(listed_lines(path))
        if b"" in labels[name]:
            raise ValueError(
                f"--labels must be files of one name a line. Received: '{path}'"
                f", line {labels[name].index(b'') + 1} of which is empty"
            )
    return labels


def _name_and_file(text):
    name, _, file = text.partition("=")
    if not name or not file:
        raise argparse.ArgumentTypeError(
            f"must be the name of an output, =, and a file. Received: {text!r}"
        )
    return name, file
