"""How do I write files of mine into a Hudi table? The shortest useful DAG; trigger it with a path of Parquet files."""

from airflow.sdk import DAG, Param

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

with DAG("first_table", schedule=None, params={"source": Param("/data/landing/customers", type="string")}):
    UpsertWithSizingOperator(
        task_id="load",
        base_path="/data/lake/customers",
        table_name="customers",
        source_path="{{ params.source }}",
        record_key="id",
    )
