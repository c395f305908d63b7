package io.tensorflowignite.api;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_LIMIT_EXCEEDED;
import static org.junit.Assert.assertEquals;

import io.tensorflowignite.base.TensorFlowIgniteException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.Test;

/** How many uploads a node has at a time. */
public class CodeUploadsTest {
  private long now;
  private final CodeUploads uploads = new CodeUploads(() -> now);
  private final List<Integer> ended = new ArrayList<>();

  private final class Upload implements CodeUploads.Upload {
    final int number;
    long lastMessageAt = now;

    Upload(int number) {
      this.number = number;
    }

    @Override
    public long lastMessageAt() {
      return lastMessageAt;
    }

    @Override
    public void end(TensorFlowIgniteException reason) {
      assertEquals(ERROR_CODE_LIMIT_EXCEEDED, reason.code());
      ended.add(number);
    }
  }

  @Test
  public void aSilentUploadEndsForANewOneAndOthersGoOn() {
    List<Upload> open = new ArrayList<>();
    for (int i = 0; i < CodeUploads.MAX_UPLOADS; i++) {
      open.add(new Upload(i));
      uploads.begin(open.get(i));
    }
    assertRefused(ERROR_CODE_LIMIT_EXCEEDED, () -> uploads.begin(new Upload(100)));

    now = TimeUnit.SECONDS.toNanos(10);
    open.get(0).lastMessageAt = now;
    uploads.begin(new Upload(101));
    assertEquals(List.of(1), ended);

    open.forEach(upload -> upload.lastMessageAt = now);
    assertRefused(() -> uploads.begin(new Upload(102)));
    uploads.remove(open.get(5));
    uploads.begin(new Upload(103));
    assertEquals(List.of(1), ended);
  }
}
