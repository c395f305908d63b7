package io.tensorflowignite.security;

import static io.tensorflowignite.security.Authentication.unauthenticated;

import com.google.common.base.Throwables;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.hash.HashCode;
import com.google.common.hash.HashFunction;
import com.google.common.hash.Hashing;
import com.google.common.util.concurrent.UncheckedExecutionException;
import io.grpc.Status;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Users of Ignite with their passwords. Ignite takes some 100 ms of a processor for each try, by
 * intent: what it accepted is known for a few seconds, few are tried at a time, and a peer that
 * fails waits. Of a password only a digest is kept, under a key that this process made and never
 * tells.
 */
final class Passwords {
  static final Duration KNOWN = Duration.ofSeconds(5);
  static final int TRIES_AT_ONCE = 10;
  static final Duration TRY_INTERVAL = Duration.ofSeconds(1);
  static final int JUDGED_AT_A_TIME = 4;
  static final int MAX_WAITING = 16;

  private static final int MAX_KNOWN = 10_000;
  private static final int KEY_BYTES = 32;
  private static final int MAX_LENGTH = 4096;
  private static final long TURN_SECONDS = 5;

  private final PasswordJudge users;
  private final HashFunction digest = Hashing.hmacSha256(key());
  private final Semaphore turns = new Semaphore(JUDGED_AT_A_TIME);
  private final AtomicInteger waiting = new AtomicInteger();
  private final FailedTries tries = new FailedTries(TRIES_AT_ONCE, TRY_INTERVAL, System::nanoTime);
  private final Cache<HashCode, Caller> known =
      CacheBuilder.newBuilder()
          .maximumSize(MAX_KNOWN)
          .expireAfterWrite(KNOWN.toNanos(), TimeUnit.NANOSECONDS)
          .build();

  Passwords(PasswordJudge users) {
    this.users = users;
  }

  /**
   * Each call is of a caller of its own, so that what one call may do is not known of the next.
   *
   * @param encoded base64 of user:password
   */
  Caller judge(String encoded, InetSocketAddress peer, Certificate certificate) {
    if (!users.knowsUsers()) {
      throw unauthenticated(
          "A password was given. This cluster's Ignite has no authentication and knows no users."
              + " Use a token.");
    }
    String host = peer == null ? "" : peer.getHostString();
    HashCode name = digest.hashString(host + " " + encoded, StandardCharsets.UTF_8);
    try {
      // Calls that come at once with one password make one try.
      return known.get(name, () -> ask(encoded, peer, host, certificate)).again();
    } catch (ExecutionException | UncheckedExecutionException refused) {
      Throwables.throwIfUnchecked(refused.getCause());
      throw new IllegalStateException(refused.getCause());
    }
  }

  private Caller ask(String encoded, InetSocketAddress peer, String host, Certificate certificate) {
    String pair = decode(encoded);
    int colon = pair.indexOf(':');
    if (colon <= 0) {
      throw unauthenticated(
          "The header 'authorization' has no user and password. It is 'Basic"
              + " base64(USER:PASSWORD)'. Correct it.");
    }
    if (!tries.begin(host)) {
      throw unauthenticated(
          String.format(
              "Too many passwords from this address have been wrong. %d may be tried at once, then"
                  + " one each second. Wait, and try the right one.",
              TRIES_AT_ONCE));
    }
    boolean wrong = false;
    try {
      takeTurn();
      try {
        String user = pair.substring(0, colon);
        Certificate[] certificates =
            certificate == null ? new Certificate[0] : new Certificate[] {certificate};
        wrong = !users.tellsRefusals();
        Optional<IgniteSecurityAccess.User> accepted =
            users.authenticate(user, pair.substring(colon + 1), peer, certificates);
        wrong = !accepted.isPresent();
        return accepted
            .map(known -> Caller.user(user, known))
            .orElseThrow(
                () ->
                    unauthenticated(
                        "The user name or the password is wrong. They are those of the Ignite"
                            + " cluster. Correct them."));
      } finally {
        turns.release();
      }
    } finally {
      if (!wrong) {
        tries.giveBack(host);
      }
    }
  }

  private void takeTurn() {
    if (turns.tryAcquire()) {
      return;
    }
    try {
      if (waiting.incrementAndGet() <= MAX_WAITING
          && turns.tryAcquire(TURN_SECONDS, TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      waiting.decrementAndGet();
    }
    throw Status.UNAVAILABLE
        .withDescription(
            String.format(
                "This node is busy with other passwords. It judges %d at a time, and %d calls wait"
                    + " %d s for it. Try again.",
                JUDGED_AT_A_TIME, MAX_WAITING, TURN_SECONDS))
        .asRuntimeException();
  }

  private static String decode(String encoded) {
    try {
      return encoded.length() > MAX_LENGTH
          ? ""
          : new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException noBase64) {
      return "";
    }
  }

  private static byte[] key() {
    byte[] key = new byte[KEY_BYTES];
    new SecureRandom().nextBytes(key);
    return key;
  }
}
