"""`benchmarks/compare.py`: what its tables state."""

import pytest


@pytest.mark.parametrize("section", ["throughput", "latency", "training"])
def test_speed_ups_are_ratios_of_medians(program, section):
    names = "float32_numpy", "float32_tensorflow", "bfloat16", "read"
    results = {
        "date": "2026-11-24",
        "machine": {"cpu": "a CPU", "cores": 2},
        "model": [1024, 128],
        "text": "dev.conllu",
        "speeds": [dict.fromkeys(names, 100.0)] * 3,
        "versions": {},
        "tokens": 600,
        "flops": 1e11,
        "bytes": {"bilm-tf": 1e9, "ElmoLayer": 1e9},
        # The median of the ratios within turns would be 9.
        section: {"bilm-tf": [6.0, 9.0, 3.0], "ElmoLayer": [3.0, 1.0, 0.3]},
    }
    *_, peer, own = program("compare").make_tables(results)
    assert peer.startswith("| bilm-tf | ") and peer.endswith(" | 1.00 |")
    assert own.startswith("| ElmoLayer | ") and own.endswith(" | 6.00 |")
