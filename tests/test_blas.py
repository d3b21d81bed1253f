"""Products on one thread, as long as anybody asks for that."""

from threadpoolctl import threadpool_info

from sslsop_core.blas import one_blas_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blocks_are_limited_also_within_each_other_and_leave_things_as_they_were():
    before = threads()
    for _ in range(2):
        with one_blas_thread():
            with one_blas_thread():
                assert threads() == {1}
            assert threads() == {1}
        assert threads() == before
