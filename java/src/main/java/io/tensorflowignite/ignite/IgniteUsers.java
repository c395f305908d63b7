package io.tensorflowignite.ignite;

import java.util.Optional;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.authentication.IgniteAccessControlException;
import org.apache.ignite.internal.processors.authentication.IgniteAuthenticationProcessor;
import org.apache.ignite.internal.processors.security.IgniteSecurity;
import org.apache.ignite.internal.processors.security.IgniteSecurityProcessor;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityException;

/**
 * The users of Ignite: of its own authentication, or of a security plugin. This is the interface
 * that Ignite's listener of thin clients uses, and that its authentication and plugins share. The
 * public alternative is a thin client that connects to its own node for each user. It would need
 * the node's client port, which a configuration may turn off, with its encryption and limits; and
 * it does not return a user's permissions.
 */
public final class IgniteUsers {
  private final IgniteSecurity security;

  public IgniteUsers(Ignite ignite) {
    this(((IgniteEx) ignite).context().security());
  }

  IgniteUsers(IgniteSecurity security) {
    this.security = security;
  }

  /** Whether Ignite's security is on. */
  public boolean areEnabled() {
    return security.enabled();
  }

  /** Whether they are those of Ignite's own authentication, which has no permissions. */
  public boolean areStock() {
    return security instanceof IgniteSecurityProcessor
        && ((IgniteSecurityProcessor) security).securityProcessor()
            instanceof IgniteAuthenticationProcessor;
  }

  /** The user of these credentials; empty, or one of many exceptions: refused. */
  public Optional<IgniteUser> authenticate(AuthenticationContext context)
      throws IgniteCheckedException {
    return Optional.ofNullable(security.authenticate(context))
        .map(accepted -> new IgniteUser(security, accepted));
  }

  /** Whether an exception of {@link #authenticate} says that the credentials are wrong. */
  public static boolean isRefusal(Throwable error) {
    return Causes.has(error, IgniteAccessControlException.class, SecurityException.class);
  }

  /** In whose name this thread runs, if Ignite's security is on. */
  public Optional<IgniteUser> caller() {
    return security.enabled()
        ? Optional.ofNullable(security.securityContext())
            .map(known -> new IgniteUser(security, known))
        : Optional.empty();
  }
}
