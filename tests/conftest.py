"""All tests keep their runs in a folder of their own, never in that of the user."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory):
    before = os.environ.get("SSLSOP_HOME")
    os.environ["SSLSOP_HOME"] = str(tmp_path_factory.mktemp("home"))
    yield
    if before is None:
        del os.environ["SSLSOP_HOME"]
    else:
        os.environ["SSLSOP_HOME"] = before
