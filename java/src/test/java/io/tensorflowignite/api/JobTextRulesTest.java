package io.tensorflowignite.api;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;

import io.tensorflowignite.v1.Access;
import io.tensorflowignite.v1.Environment;
import io.tensorflowignite.v1.JobSpec;
import org.junit.Test;

public class JobTextRulesTest {
  @Test
  public void usualTextsAreAccepted() {
    JobTextRules.check(
        JobSpec.newBuilder()
            .setName("digits \u20ac")
            .setScript("package/train.py")
            .addArgs("line\nline")
            .addArgs("x".repeat(100_000))
            .setEnvironment(Environment.newBuilder().putVariables("A", "b"))
            .build());
  }

  @Test
  public void textsThatWouldBreakACommandLineALogOrAPathAreRejected() {
    rejected(JobSpec.newBuilder().setName("a\nb"));
    rejected(JobSpec.newBuilder().setName("\u001b[2J"));
    rejected(JobSpec.newBuilder().setScript("/etc/passwd"));
    rejected(JobSpec.newBuilder().setScript("a/../../b.py"));
    rejected(JobSpec.newBuilder().setScript("a\0b.py"));
    rejected(JobSpec.newBuilder().setCheckpointDirectory("a\0b"));
    rejected(JobSpec.newBuilder().setCheckpointDirectory("ignite:///models "));
    rejected(JobSpec.newBuilder().setCheckpointDirectory(" ignite:///models"));
    rejected(JobSpec.newBuilder().setAccess(Access.newBuilder().addDirectories("ignite:///../x")));
    rejected(JobSpec.newBuilder().setAccess(Access.newBuilder().addDirectories("/models")));
    rejected(JobSpec.newBuilder().setAccess(Access.newBuilder().addCaches("a\rb")));
    rejected(JobSpec.newBuilder().addArgs("a\0b"));
    rejected(JobSpec.newBuilder().addArgs("x".repeat(100_001)));
    rejected(
        JobSpec.newBuilder().setEnvironment(Environment.newBuilder().putVariables("A", "a\0b")));
    JobSpec.Builder large = JobSpec.newBuilder();
    for (int i = 0; i < 11; i++) {
      large.addArgs("x".repeat(100_000));
    }
    rejected(large);
  }

  private static void rejected(JobSpec.Builder spec) {
    assertRefused(ERROR_CODE_INVALID_REQUEST, () -> JobTextRules.check(spec.build()));
  }
}
