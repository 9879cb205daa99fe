"""Monitor a supervised Spark run from the triggerer: log the job's lines, and resume the task when the run ends."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.triggers.base import TriggerEvent

from airflow_hudi_provider.results.log import job_line
from airflow_hudi_provider.spark.supervised_run import RunObservation, RunState, SupervisedRun
from airflow_hudi_provider.triggers.ending import complete, kill_timeout
from airflow_hudi_provider.triggers.job import HudiJobTrigger
from airflow_hudi_provider.triggers.pool import pause, run_in_pool

POKE_INTERVAL_S = 2.0
LOST_AFTER_S = 120.0
"""Seconds without a heartbeat after which a run on another machine counts as lost."""

_TURN_REFRESH_S = 30.0
_SHARE_FOR_THE_END = 0.6
_RETRY_S = 10.0
_POLL_AT_END_S = 0.3


@dataclass(frozen=True, slots=True)
class _Seen:
    run: RunObservation
    lines: list[str]


class HudiSparkRunTrigger(HudiJobTrigger):
    """Fires when the run has ended, is lost or is not visible on this machine.

    The event is ``{"state": …, "seconds": …}``. A restart of the triggerer loses no state, because the trigger then
    reads the folder of the run again. The restarted trigger may run in a different triggerer.

    :param folder: folder of the run.
    :param launch: launch id of the run. The trigger does not monitor a later run in the same folder.
    """

    def __init__(
        self, *, folder: str, launch: str, poke_interval: float = POKE_INTERVAL_S, **kwargs: Any
    ) -> None:
        super().__init__(poke_interval=poke_interval, **kwargs)
        self.folder = folder
        self.launch = launch
        self._run = SupervisedRun(Path(folder))
        self._is_asked_to_end = False

    def followed(self) -> dict[str, Any]:
        return {"folder": self.folder, "launch": self.launch}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        heartbeat, heartbeat_at, refreshed = "", time.monotonic(), 0.0
        while True:
            try:
                seen = await asyncio.to_thread(self._poll)
            except OSError as error:
                self.log.warning(
                    "The state of the run could not be read; the trigger polls again later: %s", error
                )
                await pause(_RETRY_S)
                continue
            self._log_lines(seen.lines)
            if seen.run.state is not RunState.RUNNING or seen.run.launch != self.launch:
                yield self._event(seen.run.state)
                return
            now = time.monotonic()
            if seen.run.heartbeat != heartbeat or seen.run.is_here:
                heartbeat, heartbeat_at = seen.run.heartbeat, now
            if now - heartbeat_at > LOST_AFTER_S:
                yield self._event(RunState.LOST)
                return
            if self.takes_turns and now - refreshed > _TURN_REFRESH_S:
                refreshed = now
                await run_in_pool(self.stay)
            await pause(self.poke_interval)

    async def on_kill(self) -> None:
        """End the run. Airflow 3.3 calls this method if a user clears or ends the deferred task, or its DAG times out.

        Airflow allows ``[triggerer] on_kill_timeout`` seconds. The wait for the end of the run may use 60 % of this
        time.
        """
        self.log.info("Ending the Spark run of request %s", self.request_id)
        deadline = time.monotonic() + _SHARE_FOR_THE_END * kill_timeout()
        try:
            await complete(self._end(deadline))
        except asyncio.CancelledError:
            self.log.warning(
                "The time that Airflow allows ([triggerer] on_kill_timeout) is over. %s",
                "The run was asked to end; the next try reads the state of the request from the timeline."
                if self._is_asked_to_end
                else "The run was not asked to end; the next try continues it or ends it.",
            )
            raise

    async def _end(self, deadline: float) -> None:
        # First ask the run to end. If many tasks are ended together, the later steps may wait for a thread of the pool.
        is_mine = await asyncio.to_thread(self._run.ask_to_end, self.launch)
        self._is_asked_to_end = True
        # A new try has a different run but the same name in the queue. Do not remove its name from the queue.
        if is_mine and self.takes_turns:
            await run_in_pool(self.leave)
        while is_mine and time.monotonic() < deadline:
            seen = await asyncio.to_thread(self._run.observe)
            if seen.launch != self.launch or seen.state is not RunState.RUNNING:
                break
            await asyncio.sleep(_POLL_AT_END_S)
        await run_in_pool(self.log_state_after_end)

    def _event(self, state: RunState) -> TriggerEvent:
        return TriggerEvent({"state": state.value, "seconds": self.seconds()})

    def _poll(self) -> _Seen:
        """Read the state of the run, then its new output. In this order, the output of an ended run is complete."""
        run = self._run.observe()
        lines: list[str] = []
        while new := self._run.new_output():
            lines += [line for line in new if job_line(line) is not None]
        return _Seen(run, lines)

    def _log_lines(self, lines: list[str]) -> None:
        for line in lines:
            if (found := job_line(line)) is not None:
                level, text = found
                getattr(self.log, level)("%s", text)
