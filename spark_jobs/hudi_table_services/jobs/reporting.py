"""shim"""
from hudi_table_services.contract.job_result import JobResult
class Report:
    def __init__(self, spark, request, options, watch): self.watch = watch
    def log_plan(self, plan): self.plan = plan
    def _d(self, placed, plan): return {"routed": placed.routed.matched_count, "timings": dict(self.watch.seconds), "superseded": placed.routed.superseded_count, "buckets": [(b.kind.value,b.partition_path,b.update_count,b.insert_count,b.expected_size_bytes) for b in plan.buckets], "est": [str(p.record_size) for p in plan.partitions]}
    def planned(self, placed, plan): return JobResult(outcome="planned", detail=self._d(placed, plan))
    def nothing_to_do(self, placed, plan): return JobResult(outcome="nothing_to_do", detail=self._d(placed, plan))
    def completed(self, placed, plan, written, instant, metadata): return JobResult(outcome="completed", instant=instant.requested_time, detail={**self._d(placed, plan), "sizes":[w.stat.file_size_bytes for w in written]})
    def reused(self, instant, metadata): return JobResult(outcome="completed", reused=True, instant=instant.requested_time)
