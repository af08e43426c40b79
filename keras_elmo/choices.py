"""Named choices, in Python and on the command line.

This module imports nothing, so that `keras-elmo embed --help` is fast.
"""

CORPUS_FORMATS = ("text", "conllu", "raw")
"""Formats of an input corpus"""
LABELLED = "conll"
"""Format of a labelled file, as an input corpus of `keras-elmo tag`"""
STANDARD_STREAM = "-"
"""Standard input or output, as a path"""
ANNOTATION_TOOLS = ("doccano", "label-studio", "prodigy")
"""Tools in which people label text, as formats of `keras-elmo tag`"""
VECTOR_DTYPES = ("float32", "float16")
"""Dtypes of a file of embeddings"""
COMPUTE_DTYPES = ("float32", "mixed_bfloat16")
"""Dtypes of the computation"""
QUANTIZATIONS = (None, "int8")
"""Quantizations of the large weight matrices"""
SIGNATURES = ("default", "tokens", "character_ids")
"""Signatures of an exported model"""
PAPER_FILTERS = tuple(zip(range(1, 8), (32, 32, 64, 128, 256, 512, 1024)))
"""Widths and numbers of the paper's convolutions over characters"""
