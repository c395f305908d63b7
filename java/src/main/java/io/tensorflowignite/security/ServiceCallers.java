package io.tensorflowignite.security;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PERMISSION_DENIED;

import io.grpc.Context;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.IgniteUser;
import io.tensorflowignite.ignite.IgniteUsers;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.security.decide.Principal;
import org.apache.ignite.Ignite;
import org.apache.ignite.cluster.ClusterNode;
import org.apache.ignite.plugin.security.SecuritySubjectType;

/**
 * The callers of methods of an Ignite service. Ignite knows them only with its authentication or a
 * security plugin.
 */
public final class ServiceCallers {
  private final Ignite ignite;
  private final AuthenticationPolicy policy;
  private final IgniteSecurityAccess passwords;
  private final IgniteUsers users;

  public ServiceCallers(
      Ignite ignite, AuthenticationPolicy policy, IgniteSecurityAccess passwords) {
    this.ignite = ignite;
    this.policy = policy;
    this.passwords = passwords;
    this.users = new IgniteUsers(ignite);
  }

  /**
   * Runs checks of permissions for the caller of the present method.
   *
   * @throws TensorFlowIgniteException PERMISSION_DENIED: it lacks one, or is not known although
   *     callers must authenticate.
   */
  public void authorize(Runnable checks) {
    context("Predictions by Ignite's services and SQL", "Call Predict").run(checks);
  }

  /**
   * A context in which {@code Guard} knows the caller of the present method, also on other threads.
   *
   * @param calls the calls, for the error
   * @param instead what an unknown caller does over gRPC
   * @throws TensorFlowIgniteException PERMISSION_DENIED: the caller is not known although callers
   *     must authenticate.
   */
  public Context context(String calls, String instead) {
    return Context.current().withValue(Caller.KEY, caller(calls, instead));
  }

  /**
   * Runs checks of permissions for the caller of the SQL query that this thread executes. Ignite
   * knows those of JDBC and ODBC. It reads the rows for its other thin clients in the name of the
   * node that they are connected to: such a caller has authenticated, and has no name.
   *
   * @throws TensorFlowIgniteException PERMISSION_DENIED: it lacks one, or only callers with names
   *     may have it.
   */
  public void authorizeQuery(Runnable checks) {
    if (!policy.requiresAuthentication() || !users.caller().filter(this::isServer).isPresent()) {
      authorize(checks);
      return;
    }
    try {
      // The permissions of a security plugin are those of users.
      if (passwords.reportsDenials()) {
        Caller unnamed = Caller.of(new Principal("", Principal.Kind.USER));
        Context.current().withValue(Caller.KEY, unnamed).run(checks);
        return;
      }
    } catch (TensorFlowIgniteException e) {
      if (e.code() != ERROR_CODE_PERMISSION_DENIED) {
        throw e;
      }
    }
    throw new TensorFlowIgniteException(
        ERROR_CODE_PERMISSION_DENIED,
        "The caller of a query that predicts is not known: Ignite executes queries of thin clients,"
            + " other than JDBC and ODBC, in the name of a server node. Permissions belong to"
            + " users. Connect by JDBC or ODBC, or call predict of the service tensorflow-ignite.");
  }

  private boolean isServer(IgniteUser known) {
    if (known.type() != SecuritySubjectType.REMOTE_NODE) {
      return false;
    }
    ClusterNode node = ignite.cluster().node(known.id());
    return node == null || !node.isClient();
  }

  /** Requires that a node of the cluster calls; without users in Ignite any client may. */
  public void requireNode() {
    boolean isAnother =
        users.caller().filter(known -> known.type() != SecuritySubjectType.REMOTE_NODE).isPresent();
    if (isAnother) {
      throw new TensorFlowIgniteException(
          ERROR_CODE_PERMISSION_DENIED,
          "A method for nodes was called by a client. Clients call predict and predictKeys. Use"
              + " these.");
    }
  }

  private Caller caller(String calls, String instead) {
    if (!policy.requiresAuthentication()) {
      return Caller.of(Principal.ANYONE);
    }
    return users
        .caller()
        .map(known -> Caller.user(known.login(), known::allows))
        .orElseThrow(
            () ->
                new TensorFlowIgniteException(
                    ERROR_CODE_PERMISSION_DENIED,
                    calls
                        + " are off: callers of this cluster must authenticate, and Ignite does not"
                        + " know the callers of its services. They are known with Ignite's"
                        + " authentication or a security plugin only. "
                        + instead
                        + " over gRPC with a token, or configure one of them."));
  }
}
