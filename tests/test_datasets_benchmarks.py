"""The paper's benchmarks: published counts from the original files, and fetching what is absent."""

from __future__ import annotations

import csv
import io
import tarfile
import zipfile
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from sslsop_core import datasets
from sslsop_core.datasets import citations, folder, mammograms, scenes, tagging
from sslsop_core.features import Hog
from sslsop_core.splits import folds

from .data_folder import FOLDER, benchmarks, needs_benchmarks  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("benchmarks")


load = cache(datasets.load)  # each is read once


def matches_record(problem):
    record = next(record for record in datasets.available() if record.name == problem.name)
    return (record.kind, record.n, record.d, record.outputs) == (
        problem.kind, len(problem), problem.d, len(problem.space),
    )  # fmt: skip


@needs_benchmarks
@pytest.mark.parametrize("name", ["cora_linqs", "cora_ml", "conll2002", "mias", "sun15"])
def test_a_benchmark_is_what_its_record_says(name):
    problem = load(name)
    assert matches_record(problem)
    assert None not in problem.y
    assert problem.layout is None


@needs_benchmarks
def test_the_original_cora_is_the_embedded_one():
    original, packed = load("cora_linqs", linked_only=False), datasets.load("cora")
    assert original.y == packed.y
    assert (original.inputs != packed.inputs).nnz == 0
    assert len(load("cora_linqs")) == 2222


@needs_benchmarks
def test_published_counts_of_cora_ml():
    problem = load("cora_ml", linked_only=False, self_link=False)
    words, links = (problem.inputs[:, view] for view in problem.views)
    assert words.shape == (2995, 2879)
    assert links.nnz == 8416
    assert len(load("cora_ml")) == 2646
    assert len(problem.space) == 7


@needs_benchmarks
@pytest.mark.parametrize(
    ("name", "entities"),
    [
        ("esp.train", {"LOC": 4913, "MISC": 2173, "ORG": 7390, "PER": 4321}),
        ("esp.testa", {"LOC": 984, "MISC": 445, "ORG": 1700, "PER": 1222}),
        ("esp.testb", {"LOC": 1084, "MISC": 339, "ORG": 1400, "PER": 735}),
    ],
)
def test_published_counts_of_conll(name, entities):
    sentences, y = tagging.read_columns(FOLDER / "conll2002" / name)
    assert (len(sentences), sum(map(len, y))) == tagging.COUNTS[name]
    assert Counter(tag[2:] for tags in y for tag in tags if tag.startswith("B-")) == entities


@needs_benchmarks
def test_windows_sentences_and_parts_of_speech():
    windows = load("conll2002")
    assert {len(y) for y in windows.y} == {9}
    assert windows.inputs == datasets.load("conll2002", seed=0).inputs
    whole = load("conll2002", part="sentences", n=50, pos=True, loss="hamming", seed=1)
    assert len({len(y) for y in whole.y}) > 5
    assert {len(token) for token in whole.inputs[0]} == {2}
    assert whole.space.loss_name == "hamming"
    assert whole.y[0][:3] != windows.y[0][:3] or whole.inputs[0][0][0] != windows.inputs[0][0][0]


@needs_benchmarks
@pytest.mark.parametrize("knobs", [{"part": "all"}, {"n": 10**6}, {"length": 0}, {"loss": "square"}])
def test_wrong_knobs_of_conll_are_refused(knobs):
    with pytest.raises(ValueError, match=f"{next(iter(knobs))} must be"):
        datasets.load("conll2002", **knobs)


@needs_benchmarks
def test_published_counts_of_sun15():
    problem = load("sun15")
    assert problem.inputs.shape == (3000, 128, 128)
    assert set(Counter(problem.y).values()) == {200}


@needs_benchmarks
@pytest.mark.parametrize(("levels", "file", "nodes"), [(3, "tree.csv", 29), (2, "tree_2level.csv", 19)])
def test_both_trees_of_sun15_are_the_files(levels, file, nodes):
    rows = csv.DictReader(io.StringIO((FOLDER / "sun15" / file).read_text()))
    assert scenes.scene_tree(levels) == {row["node"]: row["parent"] for row in rows if row["parent"]}
    assert len(scenes.scene_tree(levels)) == nodes - 1


@needs_benchmarks
def test_published_counts_of_mias():
    crops, pairs, films = load("mias"), load("mias", part="pairs"), load("mias", part="films")
    assert Counter(crops.y) == {"normal": 207, "benign": 68, "cancer": 51}
    assert Counter(pairs.y) == {"normal": 53, "benign": 56, "cancer": 52}
    assert Counter(films.y) == {"normal": 207, "benign": 63, "cancer": 52}
    assert pairs.inputs.shape == (161, 256, 512)


@needs_benchmarks
@pytest.mark.parametrize(
    ("part", "file"), [("pairs", "pairs.csv"), ("films", "labels.csv"), ("crops", "roi.csv")]
)
def test_labels_and_patients_of_mias_are_the_tables(part, file):
    rows = list(csv.DictReader(io.StringIO((FOLDER / "mias" / file).read_text())))
    problem = load("mias") if part == "crops" else load("mias", part=part)
    assert problem.y == [row["label"] for row in rows]
    assert problem.groups.tolist() == [int(row["patient"]) for row in rows]


@needs_benchmarks
def test_folds_of_mias_never_cut_a_patient():
    problem = load("mias")
    for fold in folds(problem, n_folds=5):
        assert not set(problem.groups[fold.train]) & set(problem.groups[fold.test])


@needs_benchmarks
def test_texture_tells_findings_from_normal_tissue():
    problem = load("mias")
    wrong = 0
    for fold in folds(problem, n_folds=3, labeled=1.0):
        X_train, X_test = problem.split(fold.train, fold.test)
        y = np.array(problem.y)
        wrong += (SVC(C=2).fit(X_train, y[fold.train]).predict(X_test) != y[fold.test]).sum()
    majority = 1 - 207 / 326
    assert wrong / len(problem) < majority - 0.03


@needs_benchmarks
def test_part_whitened_gradients_tell_scenes_apart():
    problem = load("sun15")
    found = cross_val_predict(SVC(C=2), problem.X, problem.y, cv=3)
    assert (found != np.array(problem.y)).mean() < 0.5


@needs_benchmarks
@pytest.mark.parametrize("knobs", [{"part": "breasts"}, {"features": "magic"}])
def test_wrong_knobs_of_mias_are_refused(knobs):
    with pytest.raises(ValueError, match=f"{next(iter(knobs))} must be"):
        datasets.load("mias", **knobs)


def test_wrong_levels_are_refused():
    with pytest.raises(ValueError, match="levels must be 2 or 3"):
        datasets.load("sun15", levels=4)


# --- nothing in the data folder ------------------------------------------------------------------------


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """An empty data folder; `nowhere(file)` lets that file be what a download gives."""
    import pooch

    monkeypatch.setenv("SSLSOP_DATA", str(tmp_path / "data"))

    def offer(path):
        monkeypatch.setattr(pooch, "retrieve", lambda url, *args, **kwargs: str(path))

    def refuse(url, *args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(pooch, "retrieve", refuse)
    return offer


@pytest.mark.parametrize("name", ["cora_linqs", "cora_ml", "conll2002", "mias", "sun15"])
def test_without_data_and_network_the_error_says_what_to_do(name, nowhere, tmp_path):
    with pytest.raises(ValueError, match="could not be fetched") as caught:
        datasets.load(name)
    for hint in (str(tmp_path / "data"), "http", "SSLSOP_DATA", "OSError"):
        assert hint in str(caught.value)


def test_the_data_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SSLSOP_DATA", str(tmp_path))
    assert folder.data_folder() == tmp_path
    monkeypatch.delenv("SSLSOP_DATA")
    assert folder.data_folder().name == "sslsop"


def tar_of(path, files):
    with tarfile.open(path, "w") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return path


@needs_benchmarks
def test_cora_is_unpacked_from_its_archive(nowhere, tmp_path):
    files = {part: (FOLDER / part).read_bytes() for part in citations.CORA_SHA256}
    nowhere(tar_of(tmp_path / "cora.tgz", files))
    assert len(datasets.load("cora_linqs")) == 2222


def test_a_cora_that_was_changed_is_refused(nowhere, tmp_path):
    nowhere(tar_of(tmp_path / "cora.tgz", dict.fromkeys(citations.CORA_SHA256, b"1\t0\tTheory\n")))
    with pytest.raises(ValueError, match="must have the sha256"):
        datasets.load("cora_linqs")


def test_an_archive_without_the_files_is_refused(nowhere, tmp_path):
    nowhere(tar_of(tmp_path / "cora.tgz", {"readme": b"nothing"}))
    with pytest.raises(ValueError, match=r"must hold cora/cora\.content, cora/cora\.cites; it does not"):
        datasets.load("cora_linqs")


@needs_benchmarks
def test_cora_ml_is_read_under_its_distributors_names_without_unpickling(nowhere, tmp_path):
    with np.load(FOLDER / "cora" / "cora_ml.npz", allow_pickle=False) as packed:
        arrays = {key.replace("_matrix", ""): packed[key] for key in packed if key != "class_names"}
    names = np.array({0: "x"}, dtype=object)
    np.savez(tmp_path / "cora_ml.npz", **arrays, idx_to_class=names)
    nowhere(tmp_path / "cora_ml.npz")
    problem = datasets.load("cora_ml")
    assert len(problem) == 2646
    assert problem.space.names[0] == "class 0"


def test_a_cora_ml_of_another_size_is_refused_and_not_kept(nowhere, tmp_path):
    matrix = sparse.eye(3, format="csr")
    parts = {f"{w}_{p}": getattr(matrix, p) for w in ("adj", "attr") for p in ("data", "indices", "indptr")}
    shapes = {"adj_shape": np.array([3, 3]), "attr_shape": np.array([3, 3]), "labels": np.zeros(3, int)}
    np.savez(tmp_path / "small.npz", **parts, **shapes)
    nowhere(tmp_path / "small.npz")
    with pytest.raises(ValueError, match="must hold 2995 papers"):
        datasets.load("cora_ml")
    assert not (tmp_path / "data" / "cora" / "cora_ml.npz").exists()


@needs_benchmarks
def test_conll_is_unpacked_from_its_archive(nowhere, tmp_path):
    with zipfile.ZipFile(tmp_path / "conll2002.zip", "w") as packed:
        packed.write(FOLDER / "conll2002" / "esp.train", "conll2002/esp.train")
    nowhere(tmp_path / "conll2002.zip")
    assert len(datasets.load("conll2002", n=20)) == 20


def test_a_conll_of_another_size_is_refused(nowhere, tmp_path):
    with zipfile.ZipFile(tmp_path / "conll2002.zip", "w") as packed:
        packed.writestr("conll2002/esp.train", "Ana NP B-PER\n\nen SP O\n")
    nowhere(tmp_path / "conll2002.zip")
    with pytest.raises(ValueError, match="must hold 8323 sentences and 264715 tokens; it holds 2 and 2"):
        datasets.load("conll2002")


def image_bytes(image, kind):
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, kind)
    return buffer.getvalue()


@needs_benchmarks
def test_mias_is_converted_from_its_archive(nowhere, tmp_path):
    film = np.zeros((1024, 1024), dtype=np.uint8)
    film[200:800, 300:900] = 200  # "breast"
    info = (FOLDER / "mias" / "Info.txt").read_bytes()
    films = {f"mdb{i:03d}.pgm": image_bytes(film, "PPM") for i in range(1, 323)}
    nowhere(tar_of(tmp_path / "all-mias.tar.gz", films | {"Info.txt": info}))
    crops = datasets.load("mias", features="hog")
    assert Counter(crops.y) == {"normal": 207, "benign": 68, "cancer": 51}
    normal = [i for i, y in enumerate(crops.y) if y == "normal"]
    assert (crops.inputs[normal] == 200).all()  # crops of normal films lie inside the breast
    rows = list(csv.DictReader(io.StringIO((FOLDER / "mias" / "roi.csv").read_text())))
    x, y = int(rows[0]["x0"]), int(rows[0]["y0"])  # the first is a finding: the same place
    assert np.array_equal(crops.inputs[0], film[y : y + 128, x : x + 128])


def test_a_mias_archive_without_films_is_refused(nowhere, tmp_path):
    nowhere(tar_of(tmp_path / "all-mias.tar.gz", {"Info.txt": b"mdb001 G CIRC B 535 425 197\n"}))
    with pytest.raises(ValueError, match="must list 330 findings"):
        datasets.load("mias")


def test_sun15_is_converted_from_its_archive(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(scenes, "PER_CLASS", 2)
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as packed:
        for scene in scenes.SCENES:
            for part in ("train", "test"):
                photo = rng.integers(0, 256, (150, 200, 3), dtype=np.uint8)
                packed.writestr(f"repo/data/{part}/{scene}/sun_{part}.jpg", image_bytes(photo, "JPEG"))
    nowhere(tmp_path / "photos.zip")
    problem = datasets.load("sun15")
    assert problem.inputs.shape == (30, 128, 128)
    assert isinstance(problem.features, Hog)


def test_an_archive_with_too_few_scenes_is_refused(nowhere, tmp_path):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as packed:
        packed.writestr("repo/readme.txt", "nothing")
    nowhere(tmp_path / "photos.zip")
    with pytest.raises(ValueError, match="must hold 200 images; it holds 0"):
        datasets.load("sun15")


@needs_benchmarks
def test_findings_of_mias_know_their_patient_and_place():
    findings = mammograms.read_info((FOLDER / "mias" / "Info.txt").read_text(encoding="latin-1"))
    assert findings[0] == mammograms.Finding("mdb001", "benign", (535, 425))
    assert findings[0].patient == findings[1].patient == 1
    assert sum(f.centre is None and f.label != "normal" for f in findings) == 4
