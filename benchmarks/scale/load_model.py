"""Predict what a load costs on clusters of any size, from costs that were measured on one core.

The model has the phases of the write job. In some phases, the driver works alone: it opens the table, reads footers,
plans, and commits. In the other phases, executors stage the batch, search the keys and write files. Such a phase begins
with the start of its Spark jobs, and then takes as long as the largest of these times:

- the work divided by the cores, and then the longest task, which may start last;
- the bytes divided by the bandwidth of the cores;
- the time in which the driver starts all Spark tasks and collects their results, one after the other.

As in the write job, one Spark task writes or searches several small files. The model ignores skew between partitions,
failures, and other load on the storage.
"""

from dataclasses import replace
from math import ceil

from hudi_table_services.execution.task_groups import largest_number_of_groups
from scale.load_values import Cluster, Costs, Load, Phase, Prediction, Requests
from scale.load_work import PhaseWork, phase_works


def predict(costs: Costs, requests: Requests, cluster: Cluster, load: Load) -> Prediction:
    """Predict the phases of one load. Their names are those of the phases in the result of the write job."""
    footer_rounds = ceil(load.footers / requests.footer_threads) * requests.footer
    waits = {"open table": requests.driver, "plan": footer_rounds}
    sent = {"open table": requests.driver, "plan": requests.footer * load.footers}
    phases = []
    for each in phase_works(load, requests, cluster.cores):
        if each.parts:
            phases.append(_distributed(each, costs, cluster, load))
        else:
            seconds = costs.of(each.serial) + waits.get(each.name, 0.0) * cluster.request_s
            phases.append(Phase(name=each.name, seconds=seconds, requests=sent.get(each.name, 0.0)))
    return Prediction(cluster=cluster, phases=tuple(phases))


def cores_worth_adding(
    costs: Costs, requests: Requests, cluster: Cluster, load: Load, *, least_gain: float = 1.5
) -> int:
    """Return the number of cores up to which doubling the cores makes a load at least `least_gain` times as fast.

    The search doubles the cores, from 1 on. The other attributes of the cluster stay the same.
    """
    cores = 1
    while cores < _MOST_CORES:
        now = predict(costs, requests, replace(cluster, cores=cores), load).seconds
        doubled = predict(costs, requests, replace(cluster, cores=2 * cores), load).seconds
        if now / doubled < least_gain:
            break
        cores *= 2
    return cores


_MOST_CORES = 1 << 20


def _distributed(work: PhaseWork, costs: Costs, cluster: Cluster, load: Load) -> Phase:
    units = sum(each.count for each in work.parts)
    weight = sum(each.count * each.weight for each in work.parts)
    tasks = (
        units
        if weight == float("inf")
        else min(units, largest_number_of_groups([int(weight)], cluster.cores))
    )
    speed = cluster.speed_of(tasks)
    seconds = [costs.of(each.amounts) / speed + each.requests * cluster.request_s for each in work.parts]
    core_s = sum(each.count * of_unit for each, of_unit in zip(work.parts, seconds, strict=True))
    moved = sum(each.count * each.moved_rows for each in work.parts) * load.row_bytes
    even, longest = core_s / cluster.cores, max(*seconds, core_s / units)
    # If each core does at most one unit, the phase ends with the longest unit. Otherwise, the longest unit may be the
    # last to start, when the other cores have just become idle.
    end = longest if units <= cluster.cores else even + longest * (1 - 1 / cluster.cores)
    times = {
        "cores": end,
        "bandwidth": moved / (min(cluster.cores, tasks) * cluster.bytes_per_s_of_a_core),
        "driver": tasks * costs.driver_s_per_task,
    }
    bound = max(times, key=lambda each: times[each])
    return Phase(
        name=work.name,
        seconds=costs.of(work.serial) + times[bound],
        core_s=core_s,
        requests=sum(each.count * each.requests for each in work.parts),
        tasks=tasks,
        bound="longest task" if bound == "cores" and longest > even else bound,
    )
