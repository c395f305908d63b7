package io.tensorflowignite.security;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;

import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
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
 * The only class that verifies users of Ignite. It uses the internal interface that Ignite's
 * listener of thin clients uses, and that Ignite's authentication and security plugins share. The
 * public alternative is a thin client that connects to its own node for each user. It would need
 * the node's client port, which a configuration may turn off, with its encryption and limits; and
 * it does not return a user's permissions.
 */
public final class IgniteSecurityAccess implements PasswordVerifier {
  private static final String NAMESPACE = "tensorflow-ignite";

  private final Ignite ignite;
  private final IgniteSecurity security;
  private final boolean stock;

  /** A user that Ignite has accepted. */
  interface User {
    /** Whether Ignite allows this to the user; without a plugin every user may do everything. */
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

  /** Whether Ignite has users: by its own authentication, or by a security plugin. */
  @Override
  public boolean knowsUsers() {
    return stock || security.enabled();
  }

  @Override
  public boolean reportsDenials() {
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
      // Plugins report a denial with exceptions of their own.
      boolean denied = !reportsDenials() && failed.getClass() == IgniteCheckedException.class;
      if (refused || (denied && !isInactive())) {
        return Optional.empty();
      }
      throw unverified(failed);
    }
  }

  /** Does not show the exception's text, which names the user and may have more secrets. */
  private RuntimeException unverified(Exception failed) {
    if (isInactive()) {
      return new TensorFlowIgniteException(
          ERROR_CODE_CLUSTER_NOT_ACTIVE,
          "The cluster is not active. Passwords can be verified in an active cluster only. Activate"
              + " it with: control.sh --set-state ACTIVE");
    }
    return Status.UNAVAILABLE
        .withDescription(
            String.format(
                "This node could not verify a password: Ignite failed with %s. The password may be"
                    + " correct. Try again, or call another node.",
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
   * The id of a user's session. Calls have no sessions whose end could be reported to a plugin. So
   * all calls of a user from one host share a session; otherwise sessions would accumulate in the
   * plugin.
   */
  private static UUID session(String user, InetSocketAddress peer) {
    String name = NAMESPACE + " " + (peer == null ? "" : peer.getHostString()) + " " + user;
    return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8));
  }

  /** The permissions of a user whom Ignite has accepted. */
  User user(SecurityContext accepted) {
    return (permission, name) -> allows(accepted, permission, name);
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
