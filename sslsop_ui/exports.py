"""What a person takes away from a run: outputs, history, pictures, and a script that repeats it."""

from __future__ import annotations

import json
import re
from io import BytesIO

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from sslsop_core.diagnosis import margins
from sslsop_core.evaluation.tables import to_csv

from .map_source import CSS, HTML, JS
from .palette import color_of
from .previews import kind_of_input, words_of
from .run_map import RunMap
from .runs import Run
from .symbols import text_of


def outputs_table(run: Run) -> pd.DataFrame:
    """One row per point: output, whether it was given, the truth where known, the margin."""
    space = run.problem.space
    return pd.DataFrame(
        {
            "point": np.arange(len(run.problem)),
            "output": [None if y is None else text_of(space, y) for y in run.model.outputs_],
            "given": run.labeled,
            "truth": [None if y is None else text_of(space, y) for y in run.problem.y],
            "margin": margins(run.model),
        }
    )


def outputs_csv(run: Run) -> bytes:
    return to_csv(outputs_table(run)).encode()


def file_name(name: str) -> str:
    """A name from data as part of a file's name, or of a script: letters, digits, dots and dashes only.

    >>> file_name('../<b>"x"</b>')
    'b-x-b'
    """
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:80] or "run"


def outputs_parquet(run: Run) -> bytes:
    return outputs_table(run).to_parquet(index=False)


def outputs_conll(run: Run) -> bytes:
    """A token and its tag per line, an empty line after each sequence; `-` where nothing was reached."""
    sentences = kind_of_input(run.problem) == "sentences"
    lines = []
    for i, tags in enumerate(run.model.outputs_):
        length = int(run.starts[i + 1] - run.starts[i])
        words = words_of(run.problem.inputs[i]) if sentences else [f"token{t + 1}" for t in range(length)]
        found = tags if tags is not None else ["-"] * length
        lines += [f"{word}\t{tag}" for word, tag in zip(words, found, strict=True)] + [""]
    return "\n".join(lines).encode()


def history_csv(run: Run) -> bytes:
    """One row per iteration."""
    rows = [
        {
            "iteration": turn.iteration.t,
            "objective": turn.iteration.objective,
            "changed": turn.iteration.n_changed,
            "unreached": turn.iteration.n_unreached,
            "hidden_loss": turn.loss,
        }
        for turn in run.turns
    ]
    return pd.DataFrame(rows).to_csv(index=False).encode()


# --- a script that repeats the run -------------------------------------------------------------------


def script(run: Run) -> str:
    """Python that makes the same problem, trains in the same way and writes the same outputs."""
    now, n_labeled = run.settings, sum(y is not None for y in run.first_given)
    given = (
        "list(problem.y)"
        if now.labeled >= 1
        else f"problem.hide(labeled={now.labeled}, seed={now.data_seed})"
    )
    parameters = now.parameters(run.problem.metric)
    stops = [t for t, _ in run.relabelings] + [run.n_iter]
    options = "".join(
        f"    {name}={value!r},\n" for name, value in (parameters | {"max_iter": stops[0]}).items()
    )
    features = ", problem.fitted" if run.problem.features is not None else ""
    name = file_name(run.problem.name)
    what = f"{name}, {n_labeled} of {len(run.problem)} outputs given"
    return f'''"""{what}: a run of SSLSOP Lab, repeated."""

import pandas as pd

from sslsop_core import SSLSOP, datasets
from sslsop_core.evaluation.tables import to_csv

problem = {run.source}
y = {given}
model = SSLSOP(
    problem.space,
{options})
model.fit(problem.X, y)
{_by_hand(run, stops)}
print(f"{{model.n_iter_}} iterations, objective {{model.history_[-1].objective:.6g}}")
model.save("{name}.sslsop"{features})
with open("outputs.csv", "w", newline="", encoding="utf-8") as file:
    outputs = pd.DataFrame(enumerate(model.outputs_), columns=["point", "output"], dtype=object)
    file.write(to_csv(outputs))  # no name of a class is a formula there
'''


def _by_hand(run: Run, stops: list[int]) -> str:
    """The relabellings, and the iterations between them."""
    lines = []
    for (t, changes), until in zip(run.relabelings, stops[1:], strict=True):
        lines.append(f"model.relabel({changes!r})  # after iteration {t}")
        if until > t:
            lines.append(f"model.resume(extra_iter={until - t})")
    return "\n".join([*lines, ""])


# --- pictures ----------------------------------------------------------------------------------------


def map_html(drawn: RunMap) -> bytes:
    """The map as a page of its own: scrubs, zooms and hovers without the app, and without the internet."""
    geometry = drawn.geometry()
    data = {
        "version": geometry.version,
        "geometry": geometry.packed(),
        "frames": drawn.frames(live=False),
        "overlay": drawn.overlay([]) | {"selectable": False},
        "height": None,
        "around": 190,
        "big": False,
    }
    packed = json.dumps(data).replace("<", "\\u003c")  # nothing in the data can close the script
    code = JS.replace("export default function", "function mount")
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>SSLSOP map</title>
<style>
:root {{ --st-font: system-ui, sans-serif; --st-text-color: #1a2030; --st-background-color: #fff;
  --st-secondary-background-color: #f2f4f9; --st-border-color: #dfe3ec; --st-primary-color: #4056d6; }}
body {{ margin: 24px; }}
{CSS}
</style>
<body>{HTML}
<script type="module">
{code}
const data = {packed};
mount({{ data, parentElement: document.body, setStateValue() {{}}, setTriggerValue() {{}} }});
</script></body></html>
""".encode()


def map_svg(drawn: RunMap, width: int = 900, height: int = 600) -> bytes:
    """The last iteration as a vector picture."""
    xy, colors, labeled = _drawn_points(drawn, width, height)
    dots = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if given else 2.6}" fill="{color}"'
        + (' stroke="#1a2030" stroke-width="1.4"/>' if given else "/>")
        for (x, y), color, given in sorted(
            zip(xy.tolist(), colors, labeled, strict=True), key=lambda dot: dot[2]
        )
    ]
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>', *dots, "</svg>"]).encode()


def map_png(drawn: RunMap, width: int = 1800, height: int = 1200) -> bytes:
    """The last iteration as pixels."""
    fine = 2  # drawn larger and reduced: smooth edges
    xy, colors, labeled = _drawn_points(drawn, fine * width, fine * height)
    image = Image.new("RGB", (fine * width, fine * height), "white")
    draw = ImageDraw.Draw(image)
    for (x, y), color, given in sorted(
        zip(xy.tolist(), colors, labeled, strict=True), key=lambda dot: dot[2]
    ):
        r = fine * (9 if given else 5)
        draw.ellipse(
            (x - r, y - r, x + r, y + r), fill=color, outline="#1a2030" if given else None, width=fine * 2
        )
    packed = BytesIO()
    image.resize((width, height), Image.Resampling.LANCZOS).save(packed, "PNG")
    return packed.getvalue()


def _drawn_points(drawn: RunMap, width: int, height: int) -> tuple[np.ndarray, list[str], list[bool]]:
    """Coordinates in the picture, colours, and who was labelled."""
    xy = drawn.geometry().xy.astype(float)
    low, span = xy.min(axis=0), np.maximum(np.ptp(xy, axis=0), 1e-9)
    unit = (xy - low) / span
    unit[:, 1] = 1 - unit[:, 1]
    pad = 0.03 * np.array([width, height])
    symbols, labeled = drawn.present()
    return (
        pad + unit * (np.array([width, height]) - 2 * pad),
        [color_of(c) for c in symbols],
        labeled.tolist(),
    )
