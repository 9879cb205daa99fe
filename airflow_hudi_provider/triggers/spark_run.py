"""Follow a supervised run of Spark from the triggerer: its lines for the log, its end for the task."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow.triggers.base import TriggerEvent

from airflow_hudi_provider.results.log import job_line
from airflow_hudi_provider.spark.supervised_run import RunLook, RunState, SupervisedRun
from airflow_hudi_provider.triggers.ending import complete, kill_timeout
from airflow_hudi_provider.triggers.job import HudiJobTrigger
from airflow_hudi_provider.triggers.pool import pause, run_in_pool

POKE_INTERVAL_S = 2.0
LOST_AFTER_S = 120.0
"""A run on another machine that gives no sign of life for so long counts as lost."""

_STAY_S = 30.0
_SHARE_FOR_THE_END = 0.6
_AFTER_AN_ERROR_S = 10.0
_LOOK_AT_END_S = 0.3


@dataclass(frozen=True, slots=True)
class _Seen:
    run: RunLook
    lines: list[str]


class HudiSparkRunTrigger(HudiJobTrigger):
    """Its event: ``{"state": …, "seconds": …}``, when the run has ended, is lost or cannot be seen from here.

    It keeps nothing that matters: started anew, e.g. by another triggerer, it looks at the folder again.

    :param folder: of the run.
    :param launch: of the run; a later one in the same folder is none of its business.
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
        sign, signed, stayed = "", time.monotonic(), 0.0
        while True:
            try:
                seen = await asyncio.to_thread(self._look)
            except OSError as error:
                self.log.warning("The run was not looked at, looking again later: %s", error)
                await pause(_AFTER_AN_ERROR_S)
                continue
            self._tell(seen.lines)
            if seen.run.state is not RunState.RUNNING or seen.run.launch != self.launch:
                yield self._event(seen.run.state)
                return
            now = time.monotonic()
            if seen.run.sign != sign or seen.run.is_here:
                sign, signed = seen.run.sign, now
            if now - signed > LOST_AFTER_S:
                yield self._event(RunState.LOST)
                return
            if self.takes_turns and now - stayed > _STAY_S:
                stayed = now
                await run_in_pool(self.stay)
            await pause(self.poke_interval)

    async def on_kill(self) -> None:
        """Somebody cleared or ended the deferred task, or its DAG's time is over (Airflow 3.3): the run ends too.

        Airflow gives this ``[triggerer] on_kill_timeout`` seconds; the run's end may take a share of them.
        """
        self.log.info("Ending the Spark run of request %s", self.request_id)
        deadline = time.monotonic() + _SHARE_FOR_THE_END * kill_timeout()
        try:
            await complete(self._end(deadline))
        except asyncio.CancelledError:
            self.log.warning(
                "Airflow's time for this ([triggerer] on_kill_timeout) is over. %s",
                "The run was asked to end; the next try says what it left on the timeline."
                if self._is_asked_to_end
                else "The run was not reached; the next try takes it up or ends it.",
            )
            raise

    async def _end(self, deadline: float) -> None:
        # Asked at once: many may be ended together, and wait for a thread then.
        is_mine = await asyncio.to_thread(self._run.ask_to_end, self.launch)
        self._is_asked_to_end = True
        if is_mine and self.takes_turns:  # a new try has a run of its own, and the turn by the same name
            await run_in_pool(self.leave)
        while is_mine and time.monotonic() < deadline:
            seen = await asyncio.to_thread(self._run.look)
            if seen.launch != self.launch or seen.state is not RunState.RUNNING:
                break
            await asyncio.sleep(_LOOK_AT_END_S)
        await run_in_pool(self.log_state_after_end)

    def _event(self, state: RunState) -> TriggerEvent:
        return TriggerEvent({"state": state.value, "seconds": self.seconds()})

    def _look(self) -> _Seen:
        """The run first: what it wrote before its end is there then."""
        run = self._run.look()
        lines: list[str] = []
        while new := self._run.new_output():
            lines += [line for line in new if job_line(line) is not None]
        return _Seen(run, lines)

    def _tell(self, lines: list[str]) -> None:
        for line in lines:
            if (found := job_line(line)) is not None:
                level, text = found
                getattr(self.log, level)("%s", text)
