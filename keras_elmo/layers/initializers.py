import keras


def fan_in_normal():
    """Normal with deviation `1 / sqrt(fan-in)`, as biLMs are initialised."""
    return keras.initializers.VarianceScaling(
        scale=1.0, mode="fan_in", distribution="untruncated_normal"
    )
