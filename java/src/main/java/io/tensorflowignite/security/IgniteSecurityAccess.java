package io.tensorflowignite.security;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CLUSTER_NOT_ACTIVE;

import io.grpc.Status;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.IgniteUsers;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.util.Collections;
import java.util.Optional;
import java.util.UUID;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCheckedException;
import org.apache.ignite.IgniteException;
import org.apache.ignite.plugin.security.AuthenticationContext;
import org.apache.ignite.plugin.security.SecurityCredentials;
import org.apache.ignite.plugin.security.SecurityPermission;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/** Verifies the passwords of Ignite's users. */
public final class IgniteSecurityAccess implements PasswordVerifier {
  private static final String NAMESPACE = "tensorflow-ignite";

  private final Ignite ignite;
  private final IgniteUsers users;
  private final boolean stock;

  /** A user that Ignite has accepted. */
  interface User {
    /** Whether Ignite allows this to the user; without a plugin every user may do everything. */
    boolean allows(SecurityPermission permission, String name);
  }

  public IgniteSecurityAccess(Ignite ignite) {
    this(ignite, new IgniteUsers(ignite));
  }

  IgniteSecurityAccess(Ignite ignite, IgniteUsers users) {
    this.ignite = ignite;
    this.users = users;
    this.stock = ignite.configuration().isAuthenticationEnabled();
  }

  /** Whether Ignite has users: by its own authentication, or by a security plugin. */
  @Override
  public boolean knowsUsers() {
    return stock || users.areEnabled();
  }

  @Override
  public boolean reportsDenials() {
    return users.areStock();
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
      return users.authenticate(context).map(known -> known::allows);
    } catch (IgniteCheckedException | RuntimeException failed) {
      boolean refused = IgniteUsers.isRefusal(failed);
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
}
