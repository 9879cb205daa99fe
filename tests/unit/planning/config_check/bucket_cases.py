"""Cases of the configuration rules about the bucket index."""

from config_check_cases import HUDI, Case, Cases, found, table

INDEX, COUNT = "hoodie.index.type", "hoodie.bucket.index.num.buckets"
BUCKET = {INDEX: "BUCKET", COUNT: "8"}
SIX = frozenset({0, 5})

BUCKET_CASES: Cases = {
    "bucket-count-implicit": (
        [found("warning", "the number is 256", INDEX, COUNT, options={INDEX: "bucket"})],
        [
            Case(options=BUCKET),
            Case(options={INDEX: "SIMPLE"}),
            Case(options={INDEX: "BUCKET", "hoodie.index.bucket.engine": "CONSISTENT_HASHING"}, facts=HUDI),
        ],
    ),
    "buckets-clustered": (
        [
            found("error", "so it fails", INDEX, key, options={**BUCKET, key: "true"})
            for key in ("hoodie.clustering.inline", "hoodie.clustering.async.enabled")
        ],
        [
            Case(options=BUCKET),
            Case(options={INDEX: "BLOOM", "hoodie.clustering.inline": "true"}),
            Case(options={**BUCKET, "hoodie.compact.inline": "true"}, facts=HUDI),
        ],
    ),
    "buckets-differ-from-table": (
        [
            found(
                "error",
                "The largest number is 5",
                INDEX,
                options={INDEX: "BLOOM"},
                table=table(bucket_numbers=SIX),
            ),
            found(
                "error",
                "wrote bucket 5",
                COUNT,
                options={**BUCKET, COUNT: "5"},
                table=table(bucket_numbers=SIX),
            ),
            found("error", "do not begin", INDEX, options=BUCKET, table=table(has_other_file_ids=True)),
        ],
        [
            Case(options=BUCKET, table=table(bucket_numbers=SIX)),
            Case(options={**BUCKET, COUNT: "6"}, table=table(bucket_numbers=SIX)),
            Case(options=BUCKET, table=table()),
            Case(options=BUCKET),
            Case(options={INDEX: "BLOOM"}, table=table(has_other_file_ids=True)),
            Case(options={INDEX: "BLOOM"}, table=table(has_other_file_ids=True, bucket_numbers=SIX)),
            Case(table=table(bucket_numbers=SIX)),
        ],
    ),
}
