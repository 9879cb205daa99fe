"""Write each micro-batch of a Spark stream into a table exactly once (docs/streaming.md)."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError, ObjectNotFoundError
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.storage.stores.factory import open_storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger(__name__)
_METADATA = "metadata"
"""File in the checkpoint of a query; Spark writes it when the query first starts."""


def upsert_batches(request: UpsertRequest, checkpoint: str) -> "Callable[[DataFrame, int], None]":
    """Return the function for ``DataStreamWriter.foreachBatch`` that writes each micro-batch with the write job.

    Spark repeats a batch if the query ended before the checkpoint recorded the batch. The repeated batch finds its
    own commit by its request id and writes nothing. Request ids contain the id that the checkpoint gives the query.
    Batches of a new checkpoint are therefore always written.

    Args:
        request: how each batch is written, without a source. Its request id names the stream.
        checkpoint: path or URI of the option ``checkpointLocation`` of the query. It is read with the storage options
            of the request.

    Raises:
        InvalidRequestError: the request has a source, has no request id, or is a dry run. The returned function also
            raises this error if the checkpoint does not belong to a started query.
        HudiTableServiceError: only the returned function raises this error; see `upsert`.
    """
    if request.source is not None:
        raise InvalidRequestError(
            "The request of a stream has a source, but its rows are those of the micro-batches.",
            hint="Leave the source out.",
        )
    if not request.can_be_repeated:
        raise InvalidRequestError(
            "The request of a stream has no request id.",
            hint="Give a name of the stream as request id; the ids of the batches begin with it.",
        )
    if request.dry_run:
        raise InvalidRequestError("The request of a stream is a dry run, which writes nothing.")

    def write(batch: "DataFrame", number: int) -> None:
        id_ = f"{request.request_id}/{_query_id(request, checkpoint)}/{number}"
        result = upsert(batch.sparkSession, replace(request, request_id=id_), batch)
        _LOG.info("Batch %d of the stream %s: %s", number, request.request_id, result.outcome.value)

    return write


def _query_id(request: UpsertRequest, checkpoint: str) -> str:
    try:
        text = open_storage(checkpoint, request.storage_options).read(_METADATA).decode()
        return str(json.loads(text.splitlines()[-1])["id"])
    except (ObjectNotFoundError, ValueError, KeyError, IndexError, TypeError) as error:
        raise InvalidRequestError(
            f"{checkpoint} is not the checkpoint of a started query.",
            hint="Pass the value of the option checkpointLocation of the same query.",
        ) from error
