package io.tensorflowignite.security;

import static io.tensorflowignite.base.Refusals.assertRefused;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNAUTHENTICATED;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.After;
import org.junit.Test;

public class IgnitePasswordsTest {
  private static final int TIMEOUT_S = 20;
  private static final String RIGHT = "alice:right";

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Users users = new Users();
  private final IgnitePasswords passwords = new IgnitePasswords(users);

  @After
  public void tearDown() {
    users.go.countDown();
    threads.shutdownNow();
  }

  @Test
  public void manyCallsAtOnceWithOnePasswordMakeOneTry() throws Exception {
    int calls = 3 * IgnitePasswords.TRIES_AT_ONCE;
    List<Future<Caller>> answers = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      answers.add(threads.submit(() -> verify(RIGHT, "192.0.2.1")));
    }
    users.go.countDown();
    for (Future<Caller> answer : answers) {
      assertEquals("alice", answer.get(TIMEOUT_S, TimeUnit.SECONDS).principal.name);
    }
    assertEquals(1, users.asked.get());
  }

  @Test
  public void wrongPasswordsAreCounted() {
    users.go.countDown();
    int tried = 0;
    while (refused("alice:guess " + tried).contains("password is wrong")) {
      tried++;
      assertTrue("after " + tried, tried < 2 * IgnitePasswords.TRIES_AT_ONCE);
    }
    assertTrue("after " + tried, refused("alice:another").contains("Too many passwords"));
    // One more is allowed after each second.
    assertTrue("after " + tried, tried >= IgnitePasswords.TRIES_AT_ONCE);
  }

  @Test
  public void aFailureOfIgniteCountsOnlyWhereItMayBeAWrongPassword() {
    users.go.countDown();
    users.failure = Status.UNAVAILABLE.asRuntimeException();
    failMoreThanMayBeTried(RIGHT);
    users.failure = null;
    assertEquals("alice", verify(RIGHT, "192.0.2.1").principal.name);
    users.plugin = true;
    users.failure = Status.UNAVAILABLE.asRuntimeException();
    assertRefused(() -> failMoreThanMayBeTried("alice:another"));
  }

  @Test
  public void whenManyCallsWaitTheNextFailsAtOnce() throws Exception {
    ExecutorCompletionService<Caller> answers = new ExecutorCompletionService<>(threads);
    int taken = IgnitePasswords.CONCURRENT_TRIES + IgnitePasswords.MAX_WAITING;
    for (int i = 0; i <= taken; i++) {
      String host = "192.0.2." + i;
      answers.submit(() -> verify(RIGHT, host));
    }
    // Until now no password has been verified.
    Future<Caller> first = answers.poll(TIMEOUT_S, TimeUnit.SECONDS);
    Throwable error = assertThrows(ExecutionException.class, first::get).getCause();
    assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(error).getCode());
    users.go.countDown();
    for (int i = 0; i < taken; i++) {
      assertEquals("alice", answers.poll(TIMEOUT_S, TimeUnit.SECONDS).get().principal.name);
    }
  }

  private void failMoreThanMayBeTried(String pair) {
    for (int i = 0; i < 2 * IgnitePasswords.TRIES_AT_ONCE; i++) {
      try {
        verify(pair, "192.0.2.1");
      } catch (StatusRuntimeException failed) {
        assertEquals(Status.Code.UNAVAILABLE, failed.getStatus().getCode());
      }
    }
  }

  private String refused(String pair) {
    return assertRefused(ERROR_CODE_UNAUTHENTICATED, () -> verify(pair, "192.0.2.1"));
  }

  private Caller verify(String pair, String host) {
    byte[] bytes = pair.getBytes(StandardCharsets.UTF_8);
    return passwords.verify(
        Base64.getEncoder().encodeToString(bytes), new InetSocketAddress(host, 1), null);
  }

  /** Ignite, which answers after a signal. */
  private static final class Users implements PasswordVerifier {
    final CountDownLatch go = new CountDownLatch(1);
    final AtomicInteger asked = new AtomicInteger();
    volatile RuntimeException failure;
    volatile boolean plugin;

    @Override
    public boolean knowsUsers() {
      return true;
    }

    @Override
    public boolean reportsDenials() {
      return !plugin;
    }

    @Override
    public Optional<IgniteSecurityAccess.User> authenticate(
        String user, String password, InetSocketAddress peer, Certificate... certificates) {
      asked.incrementAndGet();
      try {
        assertTrue(go.await(TIMEOUT_S, TimeUnit.SECONDS));
      } catch (InterruptedException stopped) {
        throw new AssertionError(stopped);
      }
      if (failure != null) {
        throw failure;
      }
      return password.equals("right") ? Optional.of((permission, name) -> true) : Optional.empty();
    }
  }
}
