"""Errors of hdfs-native 0.14.7 on an HDFS with Kerberos become errors with the right class, a reason and advice."""

import pytest

from hudi_table_services.errors import StorageError, StoragePermissionError
from hudi_table_services.storage.stores.hdfs_errors import translate_errors

NO_CREDENTIALS = (
    'GSSAPIError(GssMajorCodes { raw: "0x00070000", calling_error: "none", routine_error: "GSS_S_NO_CRED", '
    'supplementary_info: "0x0000" }, %s, "No credentials were supplied, or the credentials were unavailable or '
    'inaccessible: %s")'
)
LOG_IN = "kerberos_principal and kerberos_keytab"


@pytest.mark.parametrize(
    ("text", "reason", "advice"),
    [
        (
            NO_CREDENTIALS
            % (2529639053, "No Kerberos credentials available (default cache: FILE:/tmp/krb5cc_0)"),
            "failed: No credentials were supplied, or the credentials were unavailable or inaccessible: No Kerberos "
            "credentials available (default cache: FILE:/tmp/krb5cc_0).",
            LOG_IN,
        ),
        (
            NO_CREDENTIALS % (2529639066, r"Cannot find KDC for realm \"LAKE.TEST\""),
            'Cannot find KDC for realm "LAKE.TEST".',
            "krb5.conf",
        ),
        ('SASLError("Bad final token")', "the login with Kerberos failed: Bad final token.", LOG_IN),
        ("NoSASLMechanism", "the NameNode offers no known method.", LOG_IN),
        (
            'FatalRPCError("javax.security.sasl.SaslException", "GSS initiate failed")',
            "GSS initiate failed (SaslException).",
            LOG_IN,
        ),
        (
            'OperationFailed("Failed to load libgssapi_krb")',
            "Failed to load libgssapi_krb",
            "libgssapi-krb5-2",
        ),
    ],
)
def test_a_failed_login_is_a_missing_permission_with_advice(text: str, reason: str, advice: str) -> None:
    with pytest.raises(StoragePermissionError) as caught, translate_errors("read", "a"):
        raise RuntimeError(text)
    assert str(caught.value).startswith("Cannot read 'a': ")
    assert reason in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (RuntimeError(NO_CREDENTIALS % (2529639068, "Cannot contact any KDC for realm 'LAKE.TEST'")), "KDC"),
        (OSError("RPC listener disconnected"), LOG_IN),
    ],
)
def test_an_outage_of_a_server_is_an_error_that_airflow_retries(error: Exception, advice: str) -> None:
    with pytest.raises(StorageError) as caught, translate_errors("read", "a"):
        raise error
    assert caught.value.retryable
    assert advice in str(caught.value)
