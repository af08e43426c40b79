"""Draws a results.json; needs matplotlib."""

import matplotlib

matplotlib.use("Agg")

import report
from matplotlib import pyplot as plt

OWN_COLOR = "#1f6f8b"
PEER_COLOR = "#b0b7bf"
LAYER_COLOR = "#e07a3f"


def draw(results, path):
    """Draws the available sections: bars above, curves below."""
    bars = [
        name for name in BARS if name in results and name in results["only"]
    ]
    curves = list(results.get("growth", {}))
    heights = [3.6] * bool(bars) + [3.2] * bool(curves)
    if not heights:
        return
    figure = plt.figure(
        figsize=(12, sum(heights)), layout="constrained", facecolor="white"
    )
    rows = iter(figure.subfigures(len(heights), 1, squeeze=False)[:, 0])
    if bars:
        axes = next(rows).subplots(1, len(bars), squeeze=False)[0]
        for ax, name in zip(axes, bars):
            BARS[name](ax, results[name])
    if curves:
        axes = next(rows).subplots(1, len(curves), squeeze=False)[0]
        for ax, key in zip(axes, curves):
            _draw_curve(ax, results["growth"][key], report.CURVES[key])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_throughput(ax, section):
    medians = report.medians(section)
    rates = {name: section["tokens"] / s for name, s in medians.items()}
    labels = [f"{rate:,.0f}" for rate in rates.values()]
    _draw_bars(ax, rates, labels)
    ax.set_title(f"Tokens a second, {section['sentences']} sentences")


def _draw_latency(ax, section):
    medians = report.medians(section)
    rates = {name: section["words"] / s for name, s in medians.items()}
    labels = [
        f"{rate:,.0f} ({1000 * seconds:.1f} ms)"
        for rate, seconds in zip(rates.values(), medians.values())
    ]
    _draw_bars(ax, rates, labels)
    words = section["words"]
    ax.set_title(f"Tokens a second, one sentence of {words} words")


BARS = {"throughput": _draw_throughput, "latency": _draw_latency}


def _draw_bars(ax, values, labels):
    colors = [
        OWN_COLOR if name.startswith(report.OWN) else PEER_COLOR
        for name in values
    ]
    bars = ax.barh(list(values), list(values.values()), color=colors)
    ax.bar_label(bars, labels, padding=4, fontsize=9)
    ax.invert_yaxis()
    ax.margins(x=0.25)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.set_xticks([])
    ax.tick_params(left=False)


def _draw_curve(ax, curve, title):
    for name in curve["seconds"]:
        color = OWN_COLOR if "embedder" in name else LAYER_COLOR
        ax.plot(
            curve["x"], report.rates(curve, name), "o-", color=color, label=name
        )
    ax.set_xscale("log", base=2)
    labels = [f"{x:,}" for x in curve["x"]]
    ax.set_xticks(curve["x"], labels, rotation=30, ha="right")
    ax.minorticks_off()
    ax.margins(y=0.1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(title.strip("`"))
    ax.set_ylabel("tokens a second")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="lower left")
