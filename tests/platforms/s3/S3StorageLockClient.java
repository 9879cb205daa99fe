package org.apache.hudi.aws.transaction.lock;

import com.amazonaws.AmazonServiceException;
import com.amazonaws.auth.AWSStaticCredentialsProvider;
import com.amazonaws.auth.BasicAWSCredentials;
import com.amazonaws.client.builder.AwsClientBuilder.EndpointConfiguration;
import com.amazonaws.services.s3.AmazonS3;
import com.amazonaws.services.s3.AmazonS3ClientBuilder;
import com.amazonaws.services.s3.model.ObjectMetadata;
import com.amazonaws.services.s3.model.PutObjectRequest;
import com.amazonaws.services.s3.model.S3Object;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.Properties;
import org.apache.hudi.client.transaction.lock.StorageLockClient;
import org.apache.hudi.client.transaction.lock.models.LockGetResult;
import org.apache.hudi.client.transaction.lock.models.LockUpsertResult;
import org.apache.hudi.client.transaction.lock.models.StorageLockData;
import org.apache.hudi.client.transaction.lock.models.StorageLockFile;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/**
 * Reads and writes the lock object for Hudi's StorageBasedLockProvider, which loads this class by its name.
 *
 * <p>Hudi's class of this name is in hudi-aws-bundle, which the tests do not have. The lock protocol (expiry, renewal,
 * takeover, content) is in the provider, and therefore Hudi's own. This class only sends the conditional requests.
 */
public final class S3StorageLockClient implements StorageLockClient {

  private static final int NOT_FOUND = 404;
  private static final int PRECONDITION_FAILED = 412;

  private final AmazonS3 s3;
  private final String bucket;
  private final String key;

  public S3StorageLockClient(String ownerId, String lockFileUri, Properties properties) {
    URI uri = URI.create(lockFileUri);
    bucket = uri.getHost();
    key = uri.getPath().substring(1);
    BasicAWSCredentials credentials =
        new BasicAWSCredentials(
            properties.getProperty("hoodie.aws.access.key"), properties.getProperty("hoodie.aws.secret.key"));
    s3 =
        AmazonS3ClientBuilder.standard()
            .withEndpointConfiguration(new EndpointConfiguration(System.getenv("AWS_ENDPOINT_URL"), "us-east-1"))
            .withCredentials(new AWSStaticCredentialsProvider(credentials))
            .withPathStyleAccessEnabled(true)
            .build();
  }

  @Override
  public Pair<LockGetResult, Option<StorageLockFile>> readCurrentLockFile() {
    try (S3Object found = s3.getObject(bucket, key)) {
      String tag = found.getObjectMetadata().getETag();
      return Pair.of(
          LockGetResult.SUCCESS, Option.of(StorageLockFile.createFromStream(found.getObjectContent(), tag)));
    } catch (AmazonServiceException error) {
      boolean isMissing = error.getStatusCode() == NOT_FOUND;
      return Pair.of(isMissing ? LockGetResult.NOT_EXISTS : LockGetResult.UNKNOWN_ERROR, Option.empty());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  @Override
  public Pair<LockUpsertResult, Option<StorageLockFile>> tryUpsertLockFile(
      StorageLockData lock, Option<StorageLockFile> previous) {
    byte[] content = StorageLockFile.toByteArray(lock);
    ObjectMetadata metadata = new ObjectMetadata();
    metadata.setContentLength(content.length);
    PutObjectRequest put = new PutObjectRequest(bucket, key, new ByteArrayInputStream(content), metadata);
    if (previous.isPresent()) {
      put.putCustomRequestHeader("If-Match", '"' + previous.get().getVersionId() + '"');
    } else {
      put.putCustomRequestHeader("If-None-Match", "*");
    }
    try {
      String tag = s3.putObject(put).getETag();
      return Pair.of(LockUpsertResult.SUCCESS, Option.of(new StorageLockFile(lock, tag)));
    } catch (AmazonServiceException error) {
      boolean isLost = error.getStatusCode() == PRECONDITION_FAILED;
      return Pair.of(
          isLost ? LockUpsertResult.ACQUIRED_BY_OTHERS : LockUpsertResult.UNKNOWN_ERROR, Option.empty());
    }
  }

  @Override
  public Option<String> readObject(String uri, boolean checkExistsFirst) {
    URI place = URI.create(uri);
    String name = place.getPath().substring(1);
    return s3.doesObjectExist(place.getHost(), name)
        ? Option.of(s3.getObjectAsString(place.getHost(), name))
        : Option.empty();
  }

  @Override
  public boolean writeObject(String uri, String content) {
    URI place = URI.create(uri);
    s3.putObject(place.getHost(), place.getPath().substring(1), content);
    return true;
  }

  @Override
  public void close() {
    s3.shutdown();
  }
}
