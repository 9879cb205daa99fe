"""The footer of Parquet files as Thrift structures, so that row groups can be copied without decoding their pages."""
