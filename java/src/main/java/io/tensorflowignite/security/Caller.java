package io.tensorflowignite.security;

import io.grpc.Context;
import java.util.Optional;

/** Who makes one call, and whether what it may do has been looked at. */
final class Caller {
  static final Context.Key<Caller> KEY = Context.key("tensorflow-ignite-caller");

  private final Principal principal;
  private final TaskScope task;
  private final IgniteSecurityAccess.User user;
  private volatile boolean judged;

  private Caller(Principal principal, TaskScope task, IgniteSecurityAccess.User user) {
    this.principal = principal;
    this.task = task;
    this.user = user;
  }

  static Caller of(Principal principal) {
    return new Caller(principal, null, null);
  }

  static Caller user(String name, IgniteSecurityAccess.User user) {
    return new Caller(new Principal(name, Principal.Kind.USER), null, user);
  }

  static Caller task(Principal principal, TaskScope scope) {
    return new Caller(principal, scope, null);
  }

  /** The same one, making another call. */
  Caller again() {
    return new Caller(principal, task, user);
  }

  Principal principal() {
    return principal;
  }

  /** Of a task alone. */
  Optional<TaskScope> task() {
    return Optional.ofNullable(task);
  }

  /** Of a user of Ignite alone. */
  Optional<IgniteSecurityAccess.User> user() {
    return Optional.ofNullable(user);
  }

  void judged() {
    judged = true;
  }

  boolean isJudged() {
    return judged;
  }
}
