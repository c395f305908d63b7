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
 * Passwords of Ignite's users. Ignite needs about 100 ms of CPU time for each try, by intent. So
 * accepted passwords are cached for a few seconds, few passwords are tried at a time, and a peer
 * with wrong passwords must wait. The cache has only keyed digests of passwords; the key never
 * leaves this process.
 */
final class IgnitePasswords {
  static final Duration KNOWN = Duration.ofSeconds(5);
  static final int TRIES_AT_ONCE = 10;
  static final Duration TRY_INTERVAL = Duration.ofSeconds(1);
  static final int CONCURRENT_TRIES = 4;
  static final int MAX_WAITING = 16;

  private static final int MAX_KNOWN = 10_000;
  private static final int KEY_BYTES = 32;
  private static final int MAX_LENGTH = 4096;
  private static final long SLOT_TIMEOUT_S = 5;

  private final PasswordVerifier users;
  private final HashFunction digest = Hashing.hmacSha256(key());
  private final Semaphore slots = new Semaphore(CONCURRENT_TRIES);
  private final AtomicInteger waiting = new AtomicInteger();
  private final PasswordRateLimit tries =
      new PasswordRateLimit(TRIES_AT_ONCE, TRY_INTERVAL, System::nanoTime);
  private final Cache<HashCode, Caller> known =
      CacheBuilder.newBuilder()
          .maximumSize(MAX_KNOWN)
          .expireAfterWrite(KNOWN.toNanos(), TimeUnit.NANOSECONDS)
          .build();

  IgnitePasswords(PasswordVerifier users) {
    this.users = users;
  }

  /**
   * Returns a new caller for each call, so that the authorization of one call does not count for
   * the next.
   *
   * @param encoded base64 of user:password
   */
  Caller verify(String encoded, InetSocketAddress peer, Certificate certificate) {
    if (!users.knowsUsers()) {
      throw unauthenticated(
          "The call has a password. This cluster's Ignite has no authentication and no users. Use a"
              + " token.");
    }
    String host = peer == null ? "" : peer.getHostString();
    HashCode name = digest.hashString(host + " " + encoded, StandardCharsets.UTF_8);
    try {
      // Concurrent calls with one password make one try.
      return known.get(name, () -> tryPassword(encoded, peer, host, certificate)).forNewCall();
    } catch (ExecutionException | UncheckedExecutionException refused) {
      Throwables.throwIfUnchecked(refused.getCause());
      throw new IllegalStateException(refused.getCause());
    }
  }

  private Caller tryPassword(
      String encoded, InetSocketAddress peer, String host, Certificate certificate) {
    String pair = decode(encoded);
    int colon = pair.indexOf(':');
    if (colon <= 0) {
      throw unauthenticated(
          "The header 'authorization' has no user and password. It is 'Basic"
              + " base64(USER:PASSWORD)'. Send a user and a password in this form.");
    }
    if (!tries.tryAcquire(host)) {
      throw unauthenticated(
          String.format(
              "Too many passwords from this address were wrong. A host may try %d passwords at"
                  + " once, then one per second. Wait, and use the correct password.",
              TRIES_AT_ONCE));
    }
    boolean wrong = false;
    try {
      awaitSlot();
      try {
        String user = pair.substring(0, colon);
        Certificate[] certificates =
            certificate == null ? new Certificate[0] : new Certificate[] {certificate};
        wrong = !users.reportsDenials();
        Optional<IgniteSecurityAccess.User> accepted =
            users.authenticate(user, pair.substring(colon + 1), peer, certificates);
        wrong = !accepted.isPresent();
        return accepted
            .map(known -> Caller.user(user, known))
            .orElseThrow(
                () ->
                    unauthenticated(
                        "The user name or the password is wrong. Users are the users of the Ignite"
                            + " cluster. Give the name and the password of one of them."));
      } finally {
        slots.release();
      }
    } finally {
      if (!wrong) {
        tries.refund(host);
      }
    }
  }

  private void awaitSlot() {
    if (slots.tryAcquire()) {
      return;
    }
    try {
      if (waiting.incrementAndGet() <= MAX_WAITING
          && slots.tryAcquire(SLOT_TIMEOUT_S, TimeUnit.SECONDS)) {
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
                "This node is busy with other passwords. It verifies %d at a time, and %d calls"
                    + " wait up to %d s. Try again.",
                CONCURRENT_TRIES, MAX_WAITING, SLOT_TIMEOUT_S))
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
