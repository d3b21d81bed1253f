"""The list of problems that have a name, and the one door to them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import citations, embedded, generators, mammograms, scenes, tagging
from .problem import Problem


@dataclass(frozen=True)
class Record:
    """What is known of a named problem without loading it, at its default knobs."""

    name: str
    kind: str  # classes, tree, sequences or labelsets
    n: int
    d: int
    outputs: int  # number of classes, leaves, tags or labels
    source: str
    licence: str
    embedded: bool  # False: read from the data folder, fetched when absent
    loader: Callable[..., Problem] = field(repr=False)

    @property
    def description(self) -> str:
        """One line on what it is."""
        return (self.loader.__doc__ or "").partition("\n")[0]

    @property
    def knobs(self) -> dict[str, Any]:
        """What `load` can be told about it, with the defaults."""
        parameters = inspect.signature(self.loader).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}


MADE = "made by this package from a seed"
UCI = "UCI Optical Recognition of Handwritten Digits, test part, as in scikit-learn"
LINQS = "LINQS Cora (McCallum et al. 2000; Sen et al. 2008), from the package graphdatascience"
LINQS_FILES = "LINQS Cora (McCallum et al. 2000; Sen et al. 2008), https://linqs.org/datasets/#cora"
KASSEL = "OCR words of Kassel and Taskar (Taskar et al. 2003), fold 0 of 10"
UNSTATED = "none stated by the distributors"
MIAS = "mini-MIAS (Suckling et al. 1994), http://peipa.essex.ac.uk/info/mias.html"
MIAS_TERMS = "research only; may not be sold; cite Suckling et al. 1994"
SUN = "SUN (Xiao et al. 2010), 15 classes of SUN397, https://vision.princeton.edu/projects/2010/SUN/"
SUN_TERMS = "photographs belong to their owners; the database is for research"
ML = "Cora-ML (Bojchevski and Guennemann 2018), https://github.com/abojchevski/graph2gauss"
CONLL = "CoNLL-2002 shared task, Spanish; text by EFE, https://www.clips.uantwerpen.be/conll2002/ner/"
CONLL_TERMS = "research in the context of the shared task only; not commercial"


def _generated(loader: Callable[..., Problem], kind: str, n: int, d: int, outputs: int) -> Record:
    return Record(loader.__name__, kind, n, d, outputs, MADE, "MIT", True, loader)


RECORDS = {
    record.name: record
    for record in (
        Record("digits", "classes", 1797, 64, 10, UCI, "CC BY 4.0", True, embedded.digits),
        Record("digits_tree", "tree", 1797, 64, 10, UCI, "CC BY 4.0", True, embedded.digits_tree),
        Record("cora", "classes", 2708, 4141, 7, LINQS, UNSTATED, True, embedded.cora),
        Record("ocr", "sequences", 626, 128, 26, KASSEL, UNSTATED, True, embedded.ocr),
        _generated(generators.moons, "classes", 400, 2, 2),
        _generated(generators.circles, "classes", 400, 2, 2),
        _generated(generators.spirals, "classes", 450, 2, 3),
        _generated(generators.blobs, "classes", 400, 2, 5),
        _generated(generators.gaussian_tree, "tree", 540, 8, 9),
        _generated(generators.hmm, "sequences", 200, 6, 4),
        _generated(generators.label_mixture, "labelsets", 400, 12, 5),
        Record("mias", "classes", 326, 40, 3, MIAS, MIAS_TERMS, False, mammograms.mias),
        Record("sun15", "tree", 3000, 64, 15, SUN, SUN_TERMS, False, scenes.sun15),
        Record("cora_linqs", "classes", 2222, 4141, 7, LINQS_FILES, UNSTATED, False, citations.cora_linqs),
        Record("cora_ml", "classes", 2646, 5874, 7, ML, "MIT", False, citations.cora_ml),
        Record("conll2002", "sequences", 300, 2214, 9, CONLL, CONLL_TERMS, False, tagging.conll2002),
    )
}


def available() -> list[Record]:
    """All named problems, embedded ones first; nothing is loaded.

    >>> [record.name for record in available() if record.kind == "tree" and record.embedded]
    ['digits_tree', 'gaussian_tree']
    """
    return list(RECORDS.values())


def load(name: str, **knobs: Any) -> Problem:
    """The named problem. `available()` lists the names, and the knobs of each with their defaults.

    >>> problem = load("moons", n=100, noise=0.2)
    >>> problem.X.shape, problem.space.names
    ((100, 2), ('moon 1', 'moon 2'))
    """
    record = RECORDS.get(name)
    if record is None:
        raise ValueError(f"name must be one of {', '.join(RECORDS)}; got {name!r}.")
    strange = sorted(set(knobs) - set(record.knobs))
    if strange:
        known = ", ".join(record.knobs) or "none"
        raise ValueError(f"knobs of {name!r} are: {known}; got {', '.join(strange)}.")
    problem = record.loader(**knobs)
    default = record.knobs | knobs == record.knobs
    return problem.with_facts(
        layout=embedded.layout_of(name) if record.embedded and default else None,
        description=record.description,
        source=record.source,
        licence=record.licence,
        loaded=(name, knobs),
    )
