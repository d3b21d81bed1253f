#!/usr/bin/env bash
# Set up everything in .venv, then:  bash run.sh app   opens the app; with --debug it tells what it does
#                                    bash run.sh test  lints, type-checks and runs all tests, also in a browser
#                                    bash run.sh lock  pins what is installed, with hashes, in requirements-lock.txt
#                                    bash run.sh audit asks a database for known vulnerabilities of what is pinned
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Python 3.11 or newer is needed; $("$python" --version) was found. Name another with PYTHON=..." >&2
    exit 1
}
[ -x .venv/bin/python ] || "$python" -m venv .venv
pip() { .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"; }

# A Chromium for the browser tests, where one can be had; without it they say so and are skipped.
browser() {
    command -v chromium chromium-browser google-chrome >/dev/null && return
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    if command -v apt-get >/dev/null && $sudo true 2>/dev/null; then
        $sudo apt-get update -qq >/dev/null && $sudo apt-get install -y -qq chromium >/dev/null && return
    fi
    .venv/bin/playwright install chromium || echo "no browser could be installed; its tests will be skipped" >&2
}

case "${1:-}" in
app)
    pip -r requirements.txt
    [ "${2:-}" = --debug ] && export SSLSOP_DEBUG=1
    exec .venv/bin/python -m streamlit run app.py
    ;;
test)
    pip -r requirements-dev.txt
    .venv/bin/ruff check .
    .venv/bin/ruff format --check .
    .venv/bin/mypy
    browser
    .venv/bin/python -m pytest -n auto --dist worksteal --ignore tests/e2e
    exec .venv/bin/python -m pytest tests/e2e  # by themselves: a browser and a server take all cores
    ;;
lock)
    pip -r requirements.txt uv
    .venv/bin/python -m pip freeze --exclude uv >.venv/tested.txt
    .venv/bin/uv pip compile requirements.txt --universal --python-version 3.11 --generate-hashes \
        --constraints .venv/tested.txt --no-annotate --no-emit-index-url --quiet \
        --custom-compile-command "bash run.sh lock" --output-file requirements-lock.txt
    ;;
audit)
    pip pip-audit
    # Strict: a package that the database cannot be asked about is a failure, not a pass.
    exec .venv/bin/pip-audit --strict --disable-pip --require-hashes -r requirements-lock.txt
    ;;
*)
    echo "usage: bash run.sh app|test|lock|audit" >&2
    exit 2
    ;;
esac
