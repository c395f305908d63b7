package io.tensorflowignite.api;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CODE_INVALID;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;

/** One upload: chunks are stored as they arrive; the archive appears if its digest is correct. */
final class CodeUpload implements StreamObserver<UploadCodeRequest>, CodeUploads.Upload {
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{64}");
  private static final int MAX_CHUNK = 1 << 20;

  private final CodeStore code;
  private final long limitBytes;
  private final CodeUploads uploads;
  private final ServerCallStreamObserver<UploadCodeResponse> response;
  private final Hasher hasher = Hashing.sha256().newHasher();
  private String digest;
  private StorageOutput archive;
  private long size;
  private boolean ended;
  private volatile long lastMessageAt;

  /**
   * @param uploads all uploads of this node
   */
  CodeUpload(
      CodeStore code,
      long limitBytes,
      CodeUploads uploads,
      ServerCallStreamObserver<UploadCodeResponse> response) {
    this.code = code;
    this.limitBytes = limitBytes;
    this.uploads = uploads;
    this.response = response;
  }

  @Override
  public synchronized void onNext(UploadCodeRequest request) {
    lastMessageAt = uploads.now();
    if (ended) {
      // This message was already on its way when the upload ended.
      return;
    }
    if (digest == null) {
      digest = request.getDigest();
      if (!DIGEST.matcher(digest).matches()) {
        throw invalid(
            "'%s' is not a digest. A digest is a SHA-256 in lower-case hexadecimal. Send it with"
                + " the first message.",
            digest);
      }
      uploads.begin(this);
      archive = code.write(digest);
    }
    size += request.getChunk().size();
    if (size > limitBytes || request.getChunk().size() > MAX_CHUNK) {
      discard();
      throw invalid(
          "The code archive %s is too large. At most %,d bytes in chunks of at most %,d are"
              + " allowed. Remove data from the code, and load them into a cache.",
          digest, limitBytes, MAX_CHUNK);
    }
    hasher.putBytes(request.getChunk().asReadOnlyByteBuffer());
    try {
      request.getChunk().writeTo(archive);
    } catch (IOException e) {
      discard();
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public long lastMessageAt() {
    return lastMessageAt;
  }

  @Override
  public synchronized void end(TensorFlowIgniteException reason) {
    discard();
    ErrorStatuses.end(response, reason);
  }

  @Override
  public synchronized void onError(Throwable problem) {
    discard();
  }

  @Override
  public synchronized void onCompleted() {
    if (ended) {
      return;
    }
    if (digest == null) {
      throw invalid(
          "The upload is empty. Its first message has the digest. Send the digest and the"
              + " archive.");
    }
    String actual = hasher.hash().toString();
    if (!actual.equals(digest)) {
      discard();
      throw invalid(
          "The code archive announced as %s has the digest %s. Both must be equal. Upload it"
              + " again.",
          digest, actual);
    }
    try {
      archive.close();
    } finally {
      uploads.remove(this);
    }
    response.onNext(UploadCodeResponse.newBuilder().setSize(size).build());
    response.onCompleted();
  }

  private void discard() {
    ended = true;
    uploads.remove(this);
    if (archive != null) {
      StorageOutput abandoned = archive;
      archive = null;
      abandoned.abandon();
    }
  }

  private static TensorFlowIgniteException invalid(String format, Object... values) {
    return TensorFlowIgniteException.of(ERROR_CODE_CODE_INVALID, format, values);
  }
}
