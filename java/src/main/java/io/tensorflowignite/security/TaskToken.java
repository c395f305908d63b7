package io.tensorflowignite.security;

import com.google.protobuf.ByteString;
import io.tensorflowignite.job.Texts;
import io.tensorflowignite.v1.Role;
import io.tensorflowignite.v1.TaskKey;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a task says who it is with: {@code task.JOB.ATTEMPT.ROLE.INDEX.INCARNATION.SECRET}. Its node
 * makes it and gives it to the task alone; everybody else knows its digest.
 */
public final class TaskToken {
  private static final String BEGINNING = "task.";
  private static final int SECRET_BYTES = 32;
  private static final Pattern FORM =
      Pattern.compile(
          "task\\.([A-Za-z0-9-]{1,64})\\.(\\d{1,9})\\.([a-z]{1,20})\\.(\\d{1,9})\\.(\\d{1,9})"
              + "\\.[A-Za-z0-9_-]{43}");
  private static final SecureRandom RANDOM = new SecureRandom();

  private final TaskKey task;
  private final String text;

  private TaskToken(TaskKey task, String text) {
    this.task = task;
    this.text = text;
  }

  /** A new one. */
  public static TaskToken make(TaskKey task) {
    byte[] secret = new byte[SECRET_BYTES];
    RANDOM.nextBytes(secret);
    String text =
        String.format(
            "%s%s.%d.%s.%d.%d.%s",
            BEGINNING,
            task.getJobId(),
            task.getAttempt(),
            Texts.role(task.getRole()),
            task.getIndex(),
            task.getIncarnation(),
            Base64.getUrlEncoder().withoutPadding().encodeToString(secret));
    return new TaskToken(task, text);
  }

  /** Whether somebody who says so means to be a task. */
  static boolean isMeant(String text) {
    return text.startsWith(BEGINNING);
  }

  /** Empty when it is none; whether it is a true one, its digest tells. */
  static Optional<TaskToken> parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      return Optional.empty();
    }
    Role role;
    try {
      role = Role.valueOf(matcher.group(3).toUpperCase(Locale.ROOT));
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

  TaskKey task() {
    return task;
  }

  /** The token itself: for its task, and for nobody else. */
  public String text() {
    return text;
  }

  /** SHA-256 of the token. */
  public ByteString digest() {
    return ByteString.copyFrom(sha256(text));
  }

  static byte[] sha256(String text) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("Every JVM has SHA-256", impossible);
    }
  }

  /** Without the secret. */
  @Override
  public String toString() {
    return "TaskToken[job=" + task.getJobId() + ", attempt=" + task.getAttempt() + "]";
  }
}
