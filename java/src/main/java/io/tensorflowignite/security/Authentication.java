package io.tensorflowignite.security;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INTERNAL_ERROR;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNAUTHENTICATED;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.ignite.Causes;
import io.tensorflowignite.ignite.ThrottledLog;
import io.tensorflowignite.rpc.ErrorStatuses;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.security.decide.Principal;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.settings.SecuritySettings;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.ignite.IgniteLogger;

/**
 * Precedes every method: authenticates the caller, and blocks the answers of a method that has not
 * asked {@code Guard} for a permission.
 */
public final class Authentication implements ServerInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String BASIC = "basic ";
  private static final String BEARER = "bearer ";

  private final AuthenticationPolicy policy;
  private final ConfiguredTokens tokens;
  private final IgnitePasswords passwords;
  private final Function<TaskToken, Optional<TaskScope>> tasks;
  private final Predicate<InetSocketAddress> clusterHosts;
  private final ThrottledLog log;

  /**
   * @param clusterHosts whether an address is a host of this cluster
   */
  public Authentication(
      AuthenticationPolicy policy,
      SecuritySettings settings,
      IgniteSecurityAccess ignite,
      TaskTokens tasks,
      Predicate<InetSocketAddress> clusterHosts,
      IgniteLogger log) {
    this(policy, settings, ignite, tasks::verify, clusterHosts, log);
  }

  Authentication(
      AuthenticationPolicy policy,
      SecuritySettings settings,
      IgniteSecurityAccess ignite,
      Function<TaskToken, Optional<TaskScope>> tasks,
      Predicate<InetSocketAddress> clusterHosts,
      IgniteLogger log) {
    this.policy = policy;
    this.tokens = new ConfiguredTokens(settings.tokens());
    this.passwords = new IgnitePasswords(ignite);
    this.tasks = tasks;
    this.clusterHosts = clusterHosts;
    this.log = new ThrottledLog(log);
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Caller caller;
    try {
      caller = identify(call, headers);
    } catch (TensorFlowIgniteException refused) {
      // A rejected caller may retry at once.
      log.warning(
          "Call refused [method="
              + call.getMethodDescriptor().getFullMethodName()
              + ", host="
              + host(call)
              + ", reason="
              + refused.getMessage()
              + "]");
      return ErrorStatuses.reject(call, ErrorStatuses.of(refused));
    } catch (RuntimeException failed) {
      return ErrorStatuses.reject(call, statusOf(call, failed));
    }
    // No later code needs the credentials, so no later code can log them.
    headers.discardAll(AUTHORIZATION);
    return Contexts.interceptCall(
        Context.current().withValue(Caller.KEY, caller),
        new AuthorizedCall<>(call, caller),
        headers,
        next);
  }

  /** Does not show unexpected exceptions to unauthenticated callers. */
  private Status statusOf(ServerCall<?, ?> call, RuntimeException failed) {
    if (failed instanceof StatusRuntimeException) {
      return ((StatusRuntimeException) failed).getStatus();
    }
    if (Causes.isStop(failed)) {
      return Status.UNAVAILABLE.withDescription(
          "This node stops. Only running nodes answer calls. Call another node.");
    }
    log.error(
        "Authentication failed [method=" + call.getMethodDescriptor().getFullMethodName() + "]",
        failed);
    return ErrorStatuses.of(
        new TensorFlowIgniteException(
            ERROR_CODE_INTERNAL_ERROR,
            "The node failed to authenticate the caller. Its log has the details. Call another"
                + " node, or ask the administrator of the cluster."));
  }

  private Caller identify(ServerCall<?, ?> call, Metadata headers) {
    if (!policy.requiresAuthentication()) {
      return Caller.of(Principal.ANYONE);
    }
    String given = only(headers.getAll(AUTHORIZATION));
    InetSocketAddress peer = peer(call);
    X509Certificate certificate = PeerCertificate.KEY.get();
    String token = after(BEARER, given);
    if (token != null && TaskToken.hasTaskPrefix(token)) {
      return task(token, peer, certificate);
    }
    if (policy.requiresCertificates && certificate == null) {
      throw unauthenticated(
          "The connection has no certificate. This cluster requires a certificate of each client"
              + " (TensorFlowService.security.clientCertificates=required). Connect with a"
              + " certificate that the cluster's CA has signed.");
    }
    if (!policy.requiresCredentials) {
      return Caller.of(
          new Principal(CertificateNames.principal(certificate), Principal.Kind.CERTIFICATE));
    }
    if (token != null) {
      return tokens
          .nameOf(token)
          .map(name -> Caller.of(new Principal(name, Principal.Kind.TOKEN)))
          .orElseThrow(
              () ->
                  unauthenticated(
                      "The token is unknown. This cluster accepts the tokens in"
                          + " TensorFlowService.security.tokens. Use one of them."));
    }
    String password = after(BASIC, given);
    if (password == null) {
      throw unauthenticated(
          (given == null
                  ? "The call has no credentials."
                  : "The header 'authorization' has neither a password nor a token.")
              + " This cluster requires credentials: the header 'authorization' is 'Basic"
              + " base64(USER:PASSWORD)' or 'Bearer TOKEN'. Give a user and a password, or a"
              + " token.");
    }
    return passwords.verify(password, peer, certificate);
  }

  private static InetSocketAddress peer(ServerCall<?, ?> call) {
    if (PeerAddress.KEY.get() != null) {
      return PeerAddress.KEY.get();
    }
    SocketAddress remote = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    return remote instanceof InetSocketAddress ? (InetSocketAddress) remote : null;
  }

  private static String host(ServerCall<?, ?> call) {
    InetSocketAddress peer = peer(call);
    return peer == null ? "" : peer.getHostString();
  }

  private Caller task(String text, InetSocketAddress peer, X509Certificate certificate) {
    if (policy.requiresCertificates
        && certificate == null
        && (peer == null || !clusterHosts.test(peer))) {
      throw unauthenticated(
          "The token of a task came from a host outside this cluster, without a certificate. Tasks"
              + " call from the hosts of the cluster's nodes. Connect with a certificate.");
    }
    TaskScope scope =
        TaskToken.parse(text)
            .flatMap(tasks)
            .orElseThrow(
                () ->
                    unauthenticated(
                        "The token of a task is not valid. It is valid while the task's attempt"
                            + " runs and the task has not been replaced. End this process."));
    return Caller.task(new Principal(MessageText.name(scope.task), Principal.Kind.TASK), scope);
  }

  private static String only(Iterable<String> given) {
    List<String> all = new ArrayList<>();
    if (given != null) {
      given.forEach(all::add);
    }
    if (all.size() > 1) {
      throw unauthenticated(
          "The call has "
              + all.size()
              + " headers 'authorization'. A call has one caller. Send only one of them.");
    }
    return all.isEmpty() ? null : all.get(0);
  }

  /** The text behind the name of a scheme, in upper or lower case; null: another scheme. */
  private static String after(String scheme, String given) {
    return given != null && given.regionMatches(true, 0, scheme, 0, scheme.length())
        ? given.substring(scheme.length()).trim()
        : null;
  }

  static TensorFlowIgniteException unauthenticated(String text) {
    return new TensorFlowIgniteException(ERROR_CODE_UNAUTHENTICATED, text);
  }

  private static final class AuthorizedCall<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Caller caller;

    AuthorizedCall(ServerCall<Q, R> call, Caller caller) {
      super(call);
      this.caller = caller;
    }

    @Override
    public void sendMessage(R message) {
      if (!caller.isAuthorized()) {
        throw new IllegalStateException(
            "Guard was not asked for a permission before an answer of "
                + getMethodDescriptor().getFullMethodName());
      }
      super.sendMessage(message);
    }
  }
}
