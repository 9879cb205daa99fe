"""The collector of reference cycles is paused during the block, and always runs afterwards."""

import gc

import pytest

from hudi_table_services.storage.cycle_collection import paused_cycle_collection


@pytest.fixture(autouse=True)
def collector() -> None:
    assert gc.isenabled()


def test_the_collector_is_paused_during_the_block_only() -> None:
    with paused_cycle_collection():
        assert not gc.isenabled()
        with paused_cycle_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_runs_again_after_an_error() -> None:
    @paused_cycle_collection()
    def fail() -> None:
        assert not gc.isenabled()
        raise ValueError("stopped")

    for _ in range(2):
        with pytest.raises(ValueError, match="stopped"):
            fail()
        assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused_cycle_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
