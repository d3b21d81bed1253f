"""Files of one's own: every documented format is understood, everything else is refused with a reason."""

from __future__ import annotations

import csv
import doctest
import io
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sslsop_core import SSLSOP, datasets, load_model
from sslsop_core.datasets import Limits, Problem, read
from sslsop_core.datasets.outputs import MISSING
from sslsop_core.features import Hog, Pixels

from .hostile import CORPUS, npz, png, zipped

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "assets" / "examples"

EXPECTED = {  # file -> kind, rows, columns, outputs, missing outputs
    "flowers.csv": ("classes", 12, 4, 3, 6),
    "flowers.parquet": ("classes", 12, 4, 3, 6),
    "flowers.npz": ("classes", 12, 4, 3, 6),
    "animals.csv": ("tree", 8, 3, 4, 2),
    "films.csv": ("labelsets", 6, 3, 3, 1),
    "names.conll": ("sequences", 3, 103, 3, 1),
    "words.svm": ("classes", 6, 6, 2, 2),
    "digits.zip": ("classes", 8, 7, 2, 0),
}


@pytest.mark.parametrize("file", EXPECTED)
def test_the_examples_are_understood(file):
    tree = EXAMPLES / "tree.csv" if file == "animals.csv" else None
    problem = read(EXAMPLES / file, tree=tree)
    found = (problem.kind, len(problem), problem.d, len(problem.space), problem.y.count(None))
    assert found == EXPECTED[file]
    assert problem.name == Path(file).stem
    assert problem.report.rows == len(problem)
    assert problem.report.missing == problem.y.count(None) / len(problem)


def test_every_example_is_tested_and_in_the_guide():
    guide = (ROOT / "docs" / "data.md").read_text()
    for path in EXAMPLES.iterdir():
        assert path.name in {*EXPECTED, "tree.csv"}
        assert path.name in guide


def test_three_forms_of_one_table_are_the_same_problem():
    a, b, c = (read(EXAMPLES / f"flowers.{suffix}") for suffix in ("csv", "parquet", "npz"))
    assert a.y == b.y == c.y
    assert np.array_equal(a.X, b.X)
    assert np.array_equal(a.X, c.X)


@pytest.mark.parametrize("name", CORPUS)
def test_a_bad_file_is_refused_with_a_reason(name):
    make, arguments, text = CORPUS[name]
    with pytest.raises(ValueError, match=text) as caught:
        read(make(), **arguments)
    assert len(str(caught.value)) < 500


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_no_bad_file_takes_more_than_two_seconds_or_500_megabytes():
    code = """
import json, resource, sys, time
from tests.hostile import CORPUS
from sslsop_core.datasets import read
import pandas, pyarrow.parquet, PIL.Image, skimage.feature
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
def peak():  # not ru_maxrss, which a child inherits from its parent
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status["VmHWM"].split()[0]) / 1024
times = {}
for name, (make, arguments, _) in CORPUS.items():
    data = make()
    start = time.perf_counter()
    try:
        read(data, **arguments)
    except ValueError:
        pass
    times[name] = time.perf_counter() - start
print(json.dumps({"slowest": max(times, key=times.get), "time": max(times.values()), "peak": peak()}))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    found = json.loads(result.stdout)
    assert found["time"] < 2.0, found
    assert found["peak"] < 500, found  # megabytes, packages and the bad file itself included


GOOD = {
    "crlf": b"a,b,class\r\n1,2,x\r\n3,4,y\r\n",
    "old_mac": b"a,b,class\r1,2,x\r3,4,y\r",
    "bom": b"\xef\xbb\xbfa,b,class\n1,2,x\n3,4,y\n",
    "utf_16": "a,b,class\n1,2,x\n3,4,y\n".encode("utf-16"),
    "tabs": b"a\tb\tclass\n1\t2\tx\n3\t4\ty\n",
    "decimal_comma": b"a;b;class\n1,0;2;x\n3;4,0;y\n",
    "no_header": b"1,2,x\n3,4,y\n",
    "quotes": b'"a","b","class"\n"1","2","x"\n3,4,"y"\n',
    "blank_lines": b"a,b,class\n\n1,2,x\n\n3,4,y\n\n",
    "spaces": b"a, b, class\n1, 2, x \n3, 4,y\n",
    "output_first": b"class,a,b\nx,1,2\ny,3,4\n",
    "no_final_newline": b"a,b,class\n1,2,x\n3,4,y",
}


@pytest.mark.parametrize("name", GOOD)
def test_the_ways_of_writing_a_table_all_read_the_same(name):
    problem = read(GOOD[name])
    assert problem.y == ["x", "y"]
    assert problem.inputs.tolist() == [[1, 2], [3, 4]]


def test_a_first_line_that_counts_is_a_header():
    problem = read(b"0,1,2,label\n5,6,7,x\n5,6,8,y\n")
    assert problem.inputs.tolist() == [[5, 6, 7], [5, 6, 8]]


def test_unicode_and_quoted_class_names_survive():
    problem = read('a,class\n1,"größe, ""q"""\n2,日本\n3,\n'.encode())
    assert problem.y == ['größe, "q"', "日本", None]


def test_numbers_as_classes_are_names_in_their_own_order():
    assert read(b"a,class\n1,10\n2,9\n3,-1\n4,?\n").space.names == ("-1", "9", "10")


def test_gaps_are_filled_and_counted():
    problem = read(b"a,b,class\n1,2,x\nNaN,4,y\n5,,x\n")
    assert np.isfinite(problem.X).all()
    assert "2 empty cells are filled with the column's median." in problem.report.warnings


def test_the_report_warns_of_what_looks_wrong():
    problem = read(b"a,b,class\n1,7,x\n1,7,x\n2,7,y\n")
    text = str(problem.report)
    assert "never change say nothing: b" in text
    assert "1 row repeats an earlier row" in text
    assert "Only one example of y" in text
    assert "Every output is given" in text


def test_a_named_output_column_is_taken():
    problem = read(b"kind,class,a\nx,0,1\ny,1,2\n", output="kind")
    assert problem.y == ["x", "y"]
    assert problem.d == 2


def test_a_list_of_output_columns_makes_label_sets():
    problem = read(b"a,p,q\n1,1,0\n2,,1\n3,,\n", output=["p", "q"])
    assert problem.y == [(1, 0), (None, 1), None]


def test_an_inner_node_is_a_partly_given_output():
    problem = read(EXAMPLES / "animals.csv", tree=EXAMPLES / "tree.csv")
    assert problem.y[6] == "bird"
    assert "2 outputs are given only in part." in problem.report.warnings


def test_arrays_of_numbers_use_minus_one_and_nan_for_missing():
    X = np.eye(4)
    assert read(npz(X=X, y=np.array([0, 1, -1, 1]))).y == ["0", "1", None, "1"]
    assert read(npz(X=X, y=np.array([0.0, 1.0, np.nan, 1.0]))).y == ["0", "1", None, "1"]
    sets = np.array([[0, 1], [1, 0], [-1, -1], [-1, 1]])
    assert read(npz(X=X, y=sets)).y == [(0, 1), (1, 0), None, (None, 1)]


def test_lengths_make_sequences_of_an_array():
    problem = read(npz(X=np.eye(5), y=np.array(["N", "V", "", "", ""]), lengths=np.array([2, 3])))
    assert problem.y == [("N", "V"), None]
    assert [x.shape for x in problem.X] == [(2, 5), (3, 5)]


def test_tags_may_be_missing_in_three_ways():
    problem = read(b"a\tX\nb\t_\nc\t?\nd\t\n\ne\tY\n")
    assert problem.y == [("X", None, None, None), ("Y",)]


def test_token_columns_and_document_marks():
    problem = read(b"-DOCSTART- -X- O\n\nAna NP B\nruns V O\n\nRome NP B\n", format="conll")
    assert problem.inputs == [(("Ana", "NP"), ("runs", "V")), (("Rome", "NP"),)]


def test_images_of_any_size_and_an_unlabeled_folder():
    files = {"a/1.png": png(8, 0), "a/2.png": png(90, 50), "b/3.png": png(30, 99)}
    files["unlabeled/4.png"] = png(9, 200)
    problem = read(zipped(files), side=32)
    assert problem.inputs[:, 0, 0].tolist() == [0, 50, 99, 200]
    assert problem.y == ["a", "a", "b", None]
    assert isinstance(problem.features, Hog)
    assert isinstance(read(zipped(files), side=16).features, Pixels)


def test_a_tree_in_the_zip_makes_a_tree_problem():
    files = {"a/1.png": png(8, 0), "b/2.png": png(8, 9), "tree.csv": b"node,parent\na,r\nb,r\n"}
    assert read(zipped(files)).kind == "tree"


def test_a_folder_of_images_is_read_like_a_zip(tmp_path):
    for name, value in (("a/1.png", 0), ("a/2.png", 9), ("b/3.png", 99)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(png(40, value))
    (tmp_path / "b" / ".DS_Store").write_bytes(b"x")
    problem = read(tmp_path)
    assert problem.y == ["a", "a", "b"]
    assert problem.name == tmp_path.name


def test_sources_are_paths_bytes_and_binary_files():
    data = (EXAMPLES / "flowers.csv").read_bytes()
    stream = io.BytesIO(data)
    stream.name = "upload.csv"
    assert read(stream).name == "upload"
    assert read(str(EXAMPLES / "flowers.csv")).y == read(data).y


@pytest.mark.parametrize("source", ["no/such/file.csv", 3, io.StringIO("a,class\n1,x\n2,y\n")])
def test_other_sources_are_refused(source):
    with pytest.raises(ValueError, match="source must be"):
        read(source)


def test_unknown_format_and_side_are_refused():
    with pytest.raises(ValueError, match="format must be one of csv"):
        read(b"a,class\n1,x\n2,y\n", format="excel")
    with pytest.raises(ValueError, match="side must be"):
        read(EXAMPLES / "digits.zip", side=1000)


def test_limits_can_be_raised_for_a_file_that_is_trusted():
    rows = [[b"c%d" % i for i in range(30)], [b"1"] * 29 + [b"x"], [b"1"] * 29 + [b"y"]]
    data = b"\n".join(b",".join(row) for row in rows)
    with pytest.raises(ValueError, match="columns must be at most 20"):
        read(data, limits=Limits(columns=20))
    assert read(data).d == 29


def test_features_of_a_read_table_are_fitted_on_training_rows():
    problem = read(EXAMPLES / "flowers.csv")
    X_train, X_test = problem.split([0, 1, 4, 5], [8, 9])
    np.testing.assert_allclose(X_train.mean(axis=0), 0, atol=1e-12)
    assert abs(X_test.mean()) > 0.1


quick = settings(max_examples=150, deadline=2000, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.binary(max_size=300))
def test_any_bytes_are_a_problem_or_a_value_error(data):
    with suppress(ValueError):
        assert isinstance(read(data), Problem)


@quick
@given(
    st.text(alphabet='a1.,;:\t\n "?_-e#é', max_size=120),
    st.sampled_from([None, "csv", "conll", "svmlight"]),
)
def test_any_text_is_a_problem_or_a_value_error(text, format):
    with suppress(ValueError):
        assert isinstance(read(text.encode(), format=format), Problem)


@quick
@given(st.data())
def test_a_damaged_archive_is_a_problem_or_a_value_error(data):
    name = data.draw(st.sampled_from(["flowers.npz", "flowers.parquet", "digits.zip"]))
    content = bytearray((EXAMPLES / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ValueError):
        assert isinstance(read(bytes(content)), Problem)


numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
name_texts = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


rows_of_a_table = st.lists(
    st.tuples(numbers, numbers, st.one_of(st.none(), name_texts)), min_size=2, max_size=15
).filter(lambda rows: len({row[2] for row in rows} - {None, *MISSING}) > 1)


@quick
@given(rows=rows_of_a_table)
def test_a_written_table_is_read_back(rows):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["first", "second", "class"])
    writer.writerows([[repr(a), repr(b), "" if name is None else name] for a, b, name in rows])
    problem = read(buffer.getvalue().encode(), format="csv")
    np.testing.assert_allclose(problem.inputs, [row[:2] for row in rows], rtol=1e-12)
    assert problem.y == [None if row[2] in MISSING else row[2] for row in rows]


def test_the_door_is_the_packages():
    assert datasets.read is read


def test_the_guide_tells_the_truth(monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, tried = doctest.testfile(str(ROOT / "docs" / "data.md"), module_relative=False)
    assert (failed, tried) == (0, 5)


def test_the_guide_lists_every_named_set_and_every_cap():
    guide = (ROOT / "docs" / "data.md").read_text()
    assert [r.name for r in datasets.available() if f"`{r.name}`" not in guide] == []
    limits = Limits()
    assert f"{limits.rows:,} rows, {limits.columns:,} columns" in guide
    assert f"{limits.tokens:,} lines of tagged text, {limits.members:,} images" in guide


def test_outputs_that_say_na_are_missing():
    problem = datasets.read(b"a,b,output\n1,2,x\n2,1,NA\n3,3,y\n4,4,nan\n5,1,\n", name="r.csv")
    assert problem.y == ["x", None, "y", None, None]
    assert list(problem.space.names) == ["x", "y"]


SHAPES = b"width,height,output\n1,10,x\n2,11,\n1,12,x\n9,1,y\n8,2,\n9,2,y\n"


def test_new_rows_are_taken_by_the_names_of_their_columns(tmp_path):
    problem = datasets.read(SHAPES, name="shapes.csv")
    SSLSOP(problem.space, k=2, init="spread", max_iter=3).fit(problem.X, problem.y).save(
        tmp_path / "m.sslsop", problem.fitted
    )
    model = load_model(tmp_path / "m.sslsop")
    new = pd.DataFrame({"note": ["-", "-"], "height": [11.0, 1.0], "width": [1.0, 9.0]})
    assert model.predict_inputs(new).tolist() == ["x", "y"]
    assert model.predict_inputs([[1.0, 11.0], [9.0, 1.0]]).tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="'height' is missing"):
        model.predict_inputs(new.drop(columns="height"))


def test_a_column_that_only_counts_rows_is_left_out_and_told():
    problem = datasets.read(b",a,b,output\n0,5,1,x\n1,6,2,y\n2,7,3,x\n", name="frame.csv")
    assert problem.d == 2
    assert "counts the rows" in problem.report.warnings[0]


def test_a_file_without_names_has_columns_without_names():
    assert datasets.read(b"1,2,x\n2,3,y\n", name="bare.csv").features.columns is None
