package io.tensorflowignite.security;

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
import io.tensorflowignite.TensorFlowIgniteException;
import io.tensorflowignite.api.Statuses;
import io.tensorflowignite.v1.ErrorCode;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import org.apache.ignite.IgniteInterruptedException;
import org.apache.ignite.IgniteLogger;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.internal.util.typedef.X;
import org.apache.ignite.internal.util.typedef.internal.LT;

/**
 * Stands before every method: finds out who calls, and lets no answer pass of a method that has not
 * asked {@code Guard} whether the caller may have it.
 */
public final class Authentication implements ServerInterceptor {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final String BASIC = "basic ";
  private static final String BEARER = "bearer ";

  private final Policy policy;
  private final Tokens tokens;
  private final Passwords passwords;
  private final Function<TaskToken, Optional<TaskScope>> tasks;
  private final Predicate<InetSocketAddress> ownHosts;
  private final IgniteLogger log;

  /**
   * @param ownHosts whether a connection comes from a host of this cluster
   */
  public Authentication(
      Policy policy,
      SecuritySettings settings,
      IgniteSecurityAccess ignite,
      TaskTokens tasks,
      Predicate<InetSocketAddress> ownHosts,
      IgniteLogger log) {
    this(policy, settings, ignite, tasks::judge, ownHosts, log);
  }

  Authentication(
      Policy policy,
      SecuritySettings settings,
      IgniteSecurityAccess ignite,
      Function<TaskToken, Optional<TaskScope>> tasks,
      Predicate<InetSocketAddress> ownHosts,
      IgniteLogger log) {
    this.policy = policy;
    this.tokens = new Tokens(settings.tokens());
    this.passwords = new Passwords(ignite);
    this.tasks = tasks;
    this.ownHosts = ownHosts;
    this.log = log;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Caller caller;
    try {
      caller = identify(call, headers);
    } catch (TensorFlowIgniteException refused) {
      // Once in a while: who is refused may come again at once.
      LT.warn(
          log,
          "Call refused [method="
              + call.getMethodDescriptor().getFullMethodName()
              + ", host="
              + host(call)
              + ", reason="
              + refused.getMessage()
              + "]");
      return refuse(call, Statuses.of(refused));
    } catch (RuntimeException failed) {
      return refuse(call, told(call, failed));
    }
    // Nobody behind this needs it, and what nobody has, nobody can log.
    headers.discardAll(AUTHORIZATION);
    return Contexts.interceptCall(
        Context.current().withValue(Caller.KEY, caller), new Judged<>(call, caller), headers, next);
  }

  /** What nobody foresaw is not told to who has not said who he is. */
  private Status told(ServerCall<?, ?> call, RuntimeException failed) {
    if (failed instanceof StatusRuntimeException) {
      return ((StatusRuntimeException) failed).getStatus();
    }
    if (X.hasCause(
        failed,
        NodeStoppingException.class,
        InterruptedException.class,
        IgniteInterruptedException.class)) {
      return Status.UNAVAILABLE.withDescription(
          "This node stops. Callers are judged by running nodes. Ask another one.");
    }
    LT.error(
        log,
        failed,
        "Caller not judged [method=" + call.getMethodDescriptor().getFullMethodName() + "]");
    return Statuses.of(
        new TensorFlowIgniteException(
            ErrorCode.INTERNAL_ERROR,
            "The node failed to find out who calls. Its log has the details. Ask another node, or"
                + " who runs the cluster."));
  }

  private static <Q, R> ServerCall.Listener<Q> refuse(ServerCall<Q, R> call, Status status) {
    call.close(status, new Metadata());
    return new ServerCall.Listener<Q>() {};
  }

  private Caller identify(ServerCall<?, ?> call, Metadata headers) {
    if (!policy.asks()) {
      return Caller.of(Principal.ANYONE);
    }
    String given = only(headers.getAll(AUTHORIZATION));
    InetSocketAddress peer = peer(call);
    X509Certificate certificate = PeerCertificate.KEY.get();
    String token = after(BEARER, given);
    if (token != null && TaskToken.isMeant(token)) {
      return task(token, peer, certificate);
    }
    if (policy.asksCertificates() && certificate == null) {
      throw unauthenticated(
          "The connection shows no certificate. This cluster asks its clients for one"
              + " (TensorFlowService.clientCertificates=required). Connect with one that its CA has"
              + " signed.");
    }
    if (!policy.asksCredentials()) {
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
                      "The token is not known. This cluster's tokens are those of"
                          + " TensorFlowService.tokens. Use one of them."));
    }
    String password = after(BASIC, given);
    if (password == null) {
      throw unauthenticated(
          (given == null
                  ? "The call does not say who makes it."
                  : "The header 'authorization' has neither a password nor a token.")
              + " This cluster asks everybody: the header 'authorization' is 'Basic"
              + " base64(USER:PASSWORD)' or 'Bearer TOKEN'. Give a user and a password, or a"
              + " token.");
    }
    return passwords.judge(password, peer, certificate);
  }

  private static InetSocketAddress peer(ServerCall<?, ?> call) {
    SocketAddress remote = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR);
    return remote instanceof InetSocketAddress ? (InetSocketAddress) remote : null;
  }

  private static String host(ServerCall<?, ?> call) {
    InetSocketAddress peer = peer(call);
    return peer == null ? "" : peer.getHostString();
  }

  private Caller task(String text, InetSocketAddress peer, X509Certificate certificate) {
    if (policy.asksCertificates()
        && certificate == null
        && (peer == null || !ownHosts.test(peer))) {
      throw unauthenticated(
          "The token of a task came from a host that is not of this cluster, without a certificate."
              + " Tasks call from the hosts of its nodes. Connect with a certificate.");
    }
    TaskScope scope =
        TaskToken.parse(text)
            .flatMap(tasks)
            .orElseThrow(
                () ->
                    unauthenticated(
                        "The token of a task is not valid. It is while the task's attempt runs, and"
                            + " no other process has taken the task's place. Let this process"
                            + " end."));
    return Caller.task(new Principal(TaskNames.of(scope.task()), Principal.Kind.TASK), scope);
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
              + " headers 'authorization'. A caller is one. Send one of them.");
    }
    return all.isEmpty() ? null : all.get(0);
  }

  /** What follows the name of a scheme, whose letters may be of either case; null: another one. */
  private static String after(String scheme, String given) {
    return given != null && given.regionMatches(true, 0, scheme, 0, scheme.length())
        ? given.substring(scheme.length()).trim()
        : null;
  }

  static TensorFlowIgniteException unauthenticated(String text) {
    return new TensorFlowIgniteException(ErrorCode.UNAUTHENTICATED, text);
  }

  private static final class Judged<Q, R> extends SimpleForwardingServerCall<Q, R> {
    private final Caller caller;

    Judged(ServerCall<Q, R> call, Caller caller) {
      super(call);
      this.caller = caller;
    }

    @Override
    public void sendMessage(R message) {
      if (!caller.isJudged()) {
        throw new IllegalStateException(
            "No permission was asked for an answer of "
                + getMethodDescriptor().getFullMethodName());
      }
      super.sendMessage(message);
    }
  }
}
