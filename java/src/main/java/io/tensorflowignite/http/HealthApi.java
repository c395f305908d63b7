package io.tensorflowignite.http;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.tensorflowignite.base.IdleThreads;
import io.tensorflowignite.base.RateLimitedLog;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.ignite.IgniteLogger;

/**
 * Answers {@code /health/live} and {@code /health/ready} to everybody, so their cost is bounded:
 * one thread makes the checks, and an answer holds for a fifth of a second. Both work while the
 * executor of other requests is full.
 */
final class HealthApi implements AutoCloseable {
  static final String LIVE = "/health/live";
  static final String READY = "/health/ready";

  private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  static final long LIMIT_MS = 5_000;

  private final Vertx vertx;
  private final NodeHealth health;
  private final RateLimitedLog log;
  private final ExecutorService executor;
  private CompletableFuture<HttpAnswer> ready;
  private long readyAt;

  HealthApi(Vertx vertx, NodeHealth health, IgniteLogger log) {
    this.vertx = vertx;
    this.health = health;
    this.log = new RateLimitedLog(log);
    this.executor = IdleThreads.pool("tensorflow-ignite-health-%d", 1, 1);
  }

  HttpAnswer live() {
    return answer(health.live());
  }

  /** Requests that arrive together get one answer, at the latest after {@link #LIMIT_MS}. */
  synchronized CompletableFuture<HttpAnswer> ready() {
    if (ready != null && (!ready.isDone() || System.nanoTime() - readyAt < FRESH_NANOS)) {
      return ready;
    }
    CompletableFuture<HttpAnswer> next = new CompletableFuture<>();
    ready = next;
    readyAt = System.nanoTime();
    try {
      executor.execute(() -> next.complete(checked()));
    } catch (RejectedExecutionException e) {
      // Earlier checks have not ended.
      next.complete(late());
      return next;
    }
    long timer = vertx.setTimer(LIMIT_MS, id -> next.complete(late()));
    next.thenRun(() -> vertx.cancelTimer(timer));
    return next;
  }

  private static HttpAnswer late() {
    return failed("the checks have not ended after " + LIMIT_MS / 1_000 + " s: Ignite is busy");
  }

  private static HttpAnswer failed(String reason) {
    return answer(List.of(new HealthCheck("checks", false, reason)));
  }

  private HttpAnswer checked() {
    try {
      return answer(health.ready());
    } catch (RuntimeException e) {
      log.error("The checks of the node's health have failed", e);
      return failed("a check has failed; the log of the node has the details");
    }
  }

  private static HttpAnswer answer(List<HealthCheck> checks) {
    boolean isOk = checks.stream().allMatch(HealthCheck::isOk);
    JsonArray all = new JsonArray();
    for (HealthCheck check : checks) {
      JsonObject one = new JsonObject();
      one.addProperty("name", check.name);
      one.addProperty("ok", check.isOk);
      one.addProperty("reason", check.reason);
      all.add(one);
    }
    JsonObject body = new JsonObject();
    body.addProperty("ok", isOk);
    body.add("checks", all);
    return new HttpAnswer(isOk ? 200 : 503, HttpAnswer.JSON, body.toString());
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
