def wide_dtype(dtype):
    """The dtype for sums: float32 for half precision, otherwise `dtype`.

    `keras.backend.result_type` with float32 narrows float64 on JAX and PyTorch.
    """
    return "float32" if dtype in ("bfloat16", "float16") else dtype
