package io.tensorflowignite.api;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.job.CodeStore;
import io.tensorflowignite.storage.StorageOutput;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.UploadCodeRequest;
import io.tensorflowignite.v1.UploadCodeResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;

/**
 * One upload: chunks go into the cluster as they come; the archive is there only when its digest is
 * right.
 */
final class CodeUpload implements StreamObserver<UploadCodeRequest> {
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{64}");
  private static final int MAX_CHUNK = 1 << 20;

  private final CodeStore code;
  private final long limitBytes;
  private final StreamObserver<UploadCodeResponse> response;
  private final Hasher hasher = Hashing.sha256().newHasher();
  private String digest;
  private StorageOutput archive;
  private long size;

  CodeUpload(CodeStore code, long limitBytes, StreamObserver<UploadCodeResponse> response) {
    this.code = code;
    this.limitBytes = limitBytes;
    this.response = response;
  }

  @Override
  public void onNext(UploadCodeRequest request) {
    if (digest == null) {
      digest = request.getDigest();
      if (!DIGEST.matcher(digest).matches()) {
        throw invalid(
            "'"
                + digest
                + "' is no digest. It is a SHA-256 in lower-case hexadecimal. Send it first.");
      }
      archive = code.write(digest);
    }
    size += request.getChunk().size();
    if (size > limitBytes || request.getChunk().size() > MAX_CHUNK) {
      discard();
      throw invalid(
          String.format(
              "The code archive %s is too large. At most %,d bytes in chunks of at most %,d are"
                  + " allowed. Leave data out of it: load them into a cache.",
              digest, limitBytes, MAX_CHUNK));
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
  public void onError(Throwable problem) {
    discard();
  }

  @Override
  public void onCompleted() {
    if (digest == null) {
      throw invalid("The upload is empty. Its first message carries the digest. Send one.");
    }
    String actual = hasher.hash().toString();
    if (!actual.equals(digest)) {
      discard();
      throw invalid(
          "The code archive announced as "
              + digest
              + " has the digest "
              + actual
              + ". Both must be equal. Upload it again.");
    }
    archive.close();
    response.onNext(UploadCodeResponse.newBuilder().setSize(size).build());
    response.onCompleted();
  }

  private void discard() {
    if (archive != null) {
      archive.abandon();
    }
  }

  private static TensorFlowIgniteException invalid(String message) {
    return new TensorFlowIgniteException(ErrorCode.CODE_INVALID, message);
  }
}
