"""The methods of `ElmoLayer` that read and write files.

They are methods because that is where a Keras user looks for them. What they do
is in `keras_elmo.models`, which imports the layers. So each method imports it
when it is called.
"""

import os
from typing import Self


class _Presets:
    """The attribute `presets` of a class."""

    def __get__(self, layer, owner):
        from keras_elmo.models.presets import PRESETS

        return PRESETS


class ElmoFiles:
    """Base class of `ElmoLayer`: loads and saves it."""

    presets = _Presets()

    @classmethod
    def from_preset(cls, preset: str | os.PathLike, **kwargs) -> Self:
        """Creates the layer from a trained model, given its name or path.

        Args:
            preset: One of:

                - a name from `keras_elmo.PRESETS`: `"english_mini"`, which is
                  in the package, or `"original"`, `"5.5B"`, `"medium"`,
                  `"small"`, `"portuguese"` or `"pubmed"`, which are downloaded
                  once;
                - the path of a directory written by `save_to_preset`;
                - the path of a directory or `.zip`, or the URL of a `.zip`, for
                  `from_bilm`;
                - such a directory or `.zip` of a model of ELMoForManyLangs,
                  with `config.json`, `char.dic`, `token_embedder.pkl`,
                  `encoder.pkl` and, if the model has one, `word.dic`. Its ids
                  are the model's own: `elmo.token_encoder` is a
                  `LexiconEmbedding`, whose `make_vectorization()` returns a
                  layer that turns words into ids. PyTorch is not needed;
                - `"hf://user/repository"` or `"hf://user/repository@revision"`,
                  such a directory on the Hugging Face Hub; the package
                  `huggingface_hub` must be installed.

                A name takes precedence over a path; for a directory of the same
                name write `"./small"`.
            **kwargs: As for `from_bilm`: `trainable=True` to fine-tune the
                biLM, which is frozen by default, and arguments of `ElmoLayer`,
                such as `num_representations` and `dropout`. For a directory
                written by `save_to_preset`, they override what was saved:
                without `trainable` the parts keep their flags, and with
                `num_representations`, `scalar_mix` or `return_all_layers` the
                mixes are new.

        Returns:
            An `ElmoLayer` with the model's weights.

        Raises:
            ValueError: If there is no such name or directory, or a file is
                invalid.
            OSError: If the download fails; the message states the URL and where
                to put the files by hand.
            ImportError: If `huggingface_hub` is needed but not installed.

        Example:

        >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
        >>> elmo.save_to_preset("my_elmo")
        >>> elmo = ElmoLayer.from_preset("my_elmo", dropout=0.5)
        """
        from keras_elmo.models.find_model import find_model

        return find_model(preset).load(cls, **kwargs)

    @classmethod
    def from_bilm(
        cls,
        options_path: str | os.PathLike,
        weights_path: str | os.PathLike | None = None,
        *,
        trainable: bool = False,
        **kwargs,
    ) -> Self:
        """Creates the layer from the files of a trained biLM (bilm-tf format).

        Args:
            options_path: Path or http(s) URL of the options file (JSON); or
                path or URL of a `.zip`, or path of a directory, with
                `options.json` and an `.hdf5` file. Of several `.hdf5` files, it
                reads
                `weights.hdf5` or, as in the models of the NLPL repository,
                `model.hdf5`. Without an `.hdf5` file, it reads a checkpoint of
                bilm-tf's training, for which TensorFlow must be installed.
            weights_path: Path or URL of the weight file (HDF5). Leave it out
                for a directory or `.zip`.
            trainable: Boolean, whether the biLM is fine-tuned (`True`) or only
                the mix is trained (`False`). Sets `trainable` of
                `token_encoder` and of `encoder`, which you can change
                separately later.
            **kwargs: Arguments of `ElmoLayer` and of a Keras layer, such as
                `num_representations`, `dropout`, `name` and
                `dtype="mixed_bfloat16"`.

        Returns:
            An `ElmoLayer` with the file's weights.

        Raises:
            ValueError: If a file is invalid; the message states the file, the
                key, what was expected and what was found.
            FileNotFoundError: If a file is missing.
            OSError: If a download fails.

        Example:

        >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
        """
        from keras_elmo.models.bilm import FoundBilm

        model = FoundBilm.at(options_path, weights_path)
        return model.load(cls, trainable=trainable, **kwargs)

    def save_to_preset(
        self, preset_dir: str | os.PathLike, *, overwrite: bool = False
    ) -> None:
        """Saves the layer to a directory, atomically.

        The files are named as in KerasHub's presets: `config.json`,
        `metadata.json` and `model.weights.h5`. They include the mixes and all
        settings. Only `from_preset` reads them: in the HDF5 file, the arrays
        have the names of the layer's variables, such as
        `encoder.forward_cells.0.kernel`, so that other programs can read them,
        but Keras' `load_weights` cannot.

        Args:
            preset_dir: Path of the directory.
            overwrite: Boolean, whether to replace a preset in the directory.

        Raises:
            FileExistsError: If `preset_dir` has files, and `overwrite` is not
                set or they are not those of a preset.
            ValueError: If the layer is not built, or contains a layer of
                another package.
        """
        from keras_elmo.models.preset_folder import save_to_preset

        save_to_preset(self, preset_dir, overwrite)

    def save_to_bilm(
        self,
        options_path: str | os.PathLike,
        weights_path: str | os.PathLike,
        *,
        output_dtype: str = "float32",
        overwrite: bool = False,
    ) -> None:
        """Writes the biLM as files for bilm-tf and AllenNLP.

        The files do not include the mix, as it belongs to the task. Each file
        is written atomically.

        Args:
            options_path: Path of the options file (JSON) to write.
            weights_path: Path of the weight file (HDF5) to write.
            output_dtype: `"float32"`, as in every published file, or
                `"float16"` for a file of half the size.
            overwrite: Boolean, whether to replace existing files.

        Raises:
            FileExistsError: If there is a file at a path, and `overwrite` is
                not set.
            ValueError: If the layer is not built, the two paths are one, or the
                files cannot represent the layer, for example because of an
                activation other than `"relu"` and `"tanh"`, or numbers that are
                too large for float16.

        Example:

        >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
        >>> elmo.save_to_bilm("new_options.json", "new_weights.hdf5")
        """
        from keras_elmo.models.bilm_weights import save_bilm

        save_bilm(self, options_path, weights_path, output_dtype, overwrite)

    def load_bilm_weights(self, weights_path: str | os.PathLike) -> None:
        """Loads a weight file into this layer's biLM.

        Args:
            weights_path: Path of the weight file (HDF5) of a model of the same
                sizes.

        Raises:
            ValueError: If the layer is not built, or the file does not fit; the
                layer is then unchanged.
            FileNotFoundError: If there is no such file.

        Example:

        >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
        >>> elmo.load_bilm_weights("weights.hdf5")
        """
        from keras_elmo.models.bilm_weights import load_bilm_weights

        load_bilm_weights(self, weights_path)
