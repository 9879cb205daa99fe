"""shim"""
from hudi_table_services.model.write_options import WriteOptions, IndexType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.model.file_sizing import FileSizingOptions
def resolve_options(request):
    o = request.options
    return WriteOptions(operation=WriteOperation(request.operation.upper()), ordering_fields=tuple(f for f in o.get("hoodie.datasource.write.precombine.field","").split(",") if f),
      table_version=TableVersion.parse(o["hoodie.write.table.version"]) if "hoodie.write.table.version" in o else None,
      index_type=IndexType(o.get("hoodie.index.type","SIMPLE")), hoodie_options=o,
      file_sizing=FileSizingOptions(max_file_size_bytes=int(o.get("hoodie.parquet.max.file.size",125829120)), small_file_limit_bytes=int(o.get("hoodie.parquet.small.file.limit",104857600))))
