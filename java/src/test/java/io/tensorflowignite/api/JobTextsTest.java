package io.tensorflowignite.api;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;

import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import io.tensorflowignite.v1.JobSpec;
import org.junit.Test;

public class JobTextsTest {
  @Test
  public void whatUsersSubmitIsTaken() {
    JobTexts.check(
        JobSpec.newBuilder()
            .setName("digits \u20ac")
            .setScript("package/train.py")
            .addArgs("line\nline")
            .addArgs("x".repeat(100_000))
            .putEnv("A", "b")
            .build());
  }

  @Test
  public void whatWouldBreakACommandLineALogOrAPathIsRefused() {
    refused(JobSpec.newBuilder().setName("a\nb"));
    refused(JobSpec.newBuilder().setName("\u001b[2J"));
    refused(JobSpec.newBuilder().setScript("/etc/passwd"));
    refused(JobSpec.newBuilder().setScript("a/../../b.py"));
    refused(JobSpec.newBuilder().setScript("a\0b.py"));
    refused(JobSpec.newBuilder().setCheckpointDirectory("a\0b"));
    refused(JobSpec.newBuilder().addMoreCaches("a\rb"));
    refused(JobSpec.newBuilder().addArgs("a\0b"));
    refused(JobSpec.newBuilder().addArgs("x".repeat(100_001)));
    refused(JobSpec.newBuilder().putEnv("A", "a\0b"));
    JobSpec.Builder large = JobSpec.newBuilder();
    for (int i = 0; i < 11; i++) {
      large.addArgs("x".repeat(100_000));
    }
    refused(large);
  }

  private static void refused(JobSpec.Builder spec) {
    TensorFlowIgniteException refused =
        assertThrows(TensorFlowIgniteException.class, () -> JobTexts.check(spec.build()));
    assertEquals(ErrorCode.INVALID_REQUEST, refused.code());
  }
}
