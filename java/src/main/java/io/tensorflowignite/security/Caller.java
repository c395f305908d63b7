package io.tensorflowignite.security;

import io.grpc.Context;
import io.tensorflowignite.security.decide.Principal;
import io.tensorflowignite.security.decide.TaskScope;
import java.util.Optional;

/** The caller of one call, and whether Guard has authorized the call. */
final class Caller {
  static final Context.Key<Caller> KEY = Context.key("tensorflow-ignite-caller");

  final Principal principal;
  private final TaskScope task;
  private final IgniteSecurityAccess.User user;
  private volatile boolean authorized;

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

  /** The same caller for another call, which is not authorized yet. */
  Caller forNewCall() {
    return new Caller(principal, task, user);
  }

  /** The scope of a task; empty for other callers. */
  Optional<TaskScope> task() {
    return Optional.ofNullable(task);
  }

  /** The user of Ignite; empty for other callers. */
  Optional<IgniteSecurityAccess.User> user() {
    return Optional.ofNullable(user);
  }

  void markAuthorized() {
    authorized = true;
  }

  boolean isAuthorized() {
    return authorized;
  }
}
