"""What is chosen by name, in Python as on the command line.

Nothing is imported here: `keras-elmo embed --help` needs no more than this.
"""

CORPUS_FORMATS = ("text", "conllu")
"""Of a corpus that is read"""
LAYOUTS = ("allennlp", "bilm-tf", "npz")
"""Of a file of embeddings"""
VECTOR_DTYPES = ("float32", "float16")
"""In a file of embeddings"""
COMPUTE_DTYPES = ("float32", "mixed_bfloat16")
"""To compute in"""
QUANTIZATIONS = (None, "int8")
"""Of the large weight matrices"""
PROCEDURES = ("stream", "sentences")
"""To measure a perplexity by"""
SIGNATURES = ("default", "tokens", "character_ids")
"""Of an exported model"""
PAPER_FILTERS = (
    (1, 32),
    (2, 32),
    (3, 64),
    (4, 128),
    (5, 256),
    (6, 512),
    (7, 1024),
)
"""Widths and numbers of the paper's convolutions over characters"""
