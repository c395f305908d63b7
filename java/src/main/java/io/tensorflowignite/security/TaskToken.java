package io.tensorflowignite.security;

import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskKey;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The credentials of a task: {@code task.JOB.ATTEMPT.ROLE.INDEX.INCARNATION.SECRET}. The task's
 * node creates it and gives it only to the task; all others have only its digest.
 */
public final class TaskToken {
  private static final String BEGINNING = "task.";
  private static final int SECRET_BYTES = 32;
  private static final Pattern FORM =
      Pattern.compile(
          "task\\.([A-Za-z0-9-]{1,64})\\.(\\d{1,9})\\.([a-z]{1,20})\\.(\\d{1,9})\\.(\\d{1,9})"
              + "\\.[A-Za-z0-9_-]{43}");
  private static final SecureRandom RANDOM = new SecureRandom();

  final TaskKey task;

  /** The token itself, only for its task. */
  public final String text;

  private TaskToken(TaskKey task, String text) {
    this.task = task;
    this.text = text;
  }

  public static TaskToken create(TaskKey task) {
    byte[] secret = new byte[SECRET_BYTES];
    RANDOM.nextBytes(secret);
    String text =
        String.format(
            "%s%s.%d.%s.%d.%d.%s",
            BEGINNING,
            task.getJobId(),
            task.getAttempt(),
            MessageText.role(task.getRole()),
            task.getIndex(),
            task.getIncarnation(),
            Base64.getUrlEncoder().withoutPadding().encodeToString(secret));
    return new TaskToken(task, text);
  }

  /** Whether a token claims to be a task's. */
  static boolean hasTaskPrefix(String text) {
    return text.startsWith(BEGINNING);
  }

  /** Parses a token without a check of its secret; empty: malformed. */
  static Optional<TaskToken> parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    Role role;
    try {
      role = Role.valueOf("ROLE_" + matcher.group(3).toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException unknown) {
      return Optional.empty();
    }
    TaskKey task =
        TaskKey.newBuilder()
            .setJobId(matcher.group(1))
            .setAttempt(Integer.parseInt(matcher.group(2)))
            .setRole(role)
            .setIndex(Integer.parseInt(matcher.group(4)))
            .setIncarnation(Integer.parseInt(matcher.group(5)))
            .build();
    return Optional.of(new TaskToken(task, text));
  }

  /** SHA-256 of the token. */
  public ByteString digest() {
    return ByteString.copyFrom(sha256(text));
  }

  static byte[] sha256(String text) {
    return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).asBytes();
  }

  /** Without the secret. */
  @Override
  public String toString() {
    return "TaskToken[job=" + task.getJobId() + ", attempt=" + task.getAttempt() + "]";
  }
}
