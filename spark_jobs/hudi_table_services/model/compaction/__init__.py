"""Values of compaction. The timeline stores a plan as `model.table_service_plans.CompactionPlan`."""
