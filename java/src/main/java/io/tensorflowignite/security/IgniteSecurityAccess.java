package io.tensorflowignite.security;

import io.grpc.Status;
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.v1.ErrorCode;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.util.Collections;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.IgniteEx;
import org.apache.ignite.internal.processors.authentication.IgniteAccessControlException;
import org.apache.ignite.internal.processors.authentication.IgniteAuthenticationProcessor;
import org.apache.ignite.internal.processors.security.IgniteSecurity;
import org.apache.ignite.internal.processors.security.IgniteSecurityProcessor;
import org.apache.ignite.internal.processors.security.OperationSecurityContext;
import org.apache.ignite.internal.processors.security.SecurityContext;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecurityException;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/**
 * The one place that knows how Ignite judges users. It asks as Ignite's own listener of thin
 * clients does, by an internal interface, which stock authentication and security plugins share.
 * The public way, a thin client that connects to its own node for each user, would need the node's
 * client port, which a configuration may turn off, with its encryption and limits; and it does not
 * tell what a user may do.
 */
public final class IgniteSecurityAccess implements PasswordJudge {
  private static final String NAMESPACE = "tensorflow-ignite";

  private final Ignite ignite;
  private final IgniteSecurity security;
  private final boolean stock;

  /** A user that Ignite has accepted. */
  interface User {
    /** Whether the user may do this, as Ignite sees it; stock Ignite lets every user do all. */
    boolean allows(SecurityPermission permission, String name);
  }

  public IgniteSecurityAccess(Ignite ignite) {
    this(ignite, ((IgniteEx) ignite).context().security());
  }

  IgniteSecurityAccess(Ignite ignite, IgniteSecurity security) {
    this.ignite = ignite;
    this.security = security;
    this.stock = ignite.configuration().isAuthenticationEnabled();
  }

  /** Whether Ignite knows users: by its own authentication, or by a security plugin. */
  @Override
  public boolean knowsUsers() {
    return stock || security.enabled();
  }

  @Override
  public boolean tellsRefusals() {
    return security instanceof IgniteSecurityProcessor
        && ((IgniteSecurityProcessor) security).securityProcessor()
            instanceof IgniteAuthenticationProcessor;
  }

  @Override
  public Optional<User> authenticate(
      String user, String password, InetSocketAddress peer, Certificate... certificates) {
    AuthenticationContext context = new AuthenticationContext();
    context.subjectType(SecuritySubjectType.REMOTE_CLIENT);
    context.subjectId(session(user, peer));
    context.nodeAttributes(Collections.emptyMap());
    context.credentials(new SecurityCredentials(user, password));
    context.address(peer);
    context.certificates(certificates);
    try {
      SecurityContext accepted = security.authenticate(context);
      return Optional.ofNullable(accepted)
          .map(known -> (permission, name) -> allows(known, permission, name));
    } catch (IgniteCheckedException | RuntimeException failed) {
      boolean refused =
          X.hasCause(failed, IgniteAccessControlException.class, SecurityException.class);
      // A plugin refuses in words of its own.
      boolean told = !tellsRefusals() && failed.getClass() == IgniteCheckedException.class;
      if (refused || (told && !isInactive())) {
        return Optional.empty();
      }
      throw unjudged(failed);
    }
  }

  /** What was thrown names the user, and may say more, as a plugin is free to: it is not told. */
  private RuntimeException unjudged(Exception failed) {
    if (isInactive()) {
      return new TensorFlowIgniteException(
          ErrorCode.CLUSTER_NOT_ACTIVE,
          "The cluster is not active. Its users and their passwords are known once it is. Activate"
              + " it with: control.sh --set-state ACTIVE");
    }
    return Status.UNAVAILABLE
        .withDescription(
            String.format(
                "This node could not judge a password: Ignite failed with %s. It says nothing of"
                    + " the password. Try again, or ask another node.",
                failed.getClass().getSimpleName()))
        .asRuntimeException();
  }

  private boolean isInactive() {
    try {
      return !ignite.cluster().state().active();
    } catch (IgniteException | IllegalStateException stopping) {
      return false;
    }
  }

  /**
   * Calls have no end of a session to tell a plugin of. So a user from a host has one and the same
   * session at every try, which renews it; others would heap up in the plugin for ever.
   */
  private static UUID session(String user, InetSocketAddress peer) {
    String name = NAMESPACE + " " + (peer == null ? "" : peer.getHostString()) + " " + user;
    return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8));
  }

  private boolean allows(SecurityContext user, SecurityPermission permission, String name) {
    try (OperationSecurityContext asUser = security.withContext(user)) {
      security.authorize(name, permission);
      return true;
    } catch (SecurityException refused) {
      return false;
    }
  }
}
