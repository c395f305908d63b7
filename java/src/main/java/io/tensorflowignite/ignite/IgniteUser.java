package io.tensorflowignite.ignite;

import java.util.UUID;
import org.apache.ignite.internal.processors.security.IgniteSecurity;
import org.apache.ignite.internal.processors.security.OperationSecurityContext;
import org.apache.ignite.internal.processors.security.SecurityContext;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/** A user that Ignite has accepted, or a node in whose name a call was made. */
public final class IgniteUser {
  private final IgniteSecurity security;
  private final SecurityContext context;

  IgniteUser(IgniteSecurity security, SecurityContext context) {
    this.security = security;
    this.context = context;
  }

  /** Of a node: its id. */
  public UUID id() {
    return context.subject().id();
  }

  public String login() {
    return String.valueOf(context.subject().login());
  }

  public SecuritySubjectType type() {
    return context.subject().type();
  }

  /**
   * Whether Ignite allows this to the user; without a plugin every user may do everything.
   *
   * @param name of the cache, task or service
   */
  public boolean allows(SecurityPermission permission, String name) {
    try (OperationSecurityContext asUser = security.withContext(context)) {
      security.authorize(name, permission);
      return true;
    } catch (SecurityException refused) {
      return false;
    }
  }
}
