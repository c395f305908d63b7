package io.tensorflowignite.security;

import static io.tensorflowignite.v1.Role.ROLE_WORKER;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import io.tensorflowignite.security.decide.AuthenticationPolicy;
import io.tensorflowignite.security.decide.Principal;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.security.tls.TestAuthority;
import io.tensorflowignite.settings.SecuritySettings;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.ListNodesResponse;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.TaskKey;
import java.net.InetSocketAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;
import org.apache.ignite.IgniteException;
import org.apache.ignite.internal.NodeStoppingException;
import org.apache.ignite.logger.NullLogger;
import org.junit.Test;

/**
 * Calls of a cluster that requires certificates.
 *
 * <p>Promise (security): A method that has not called {@code Guard} sends no answer.
 */
public class AuthenticationTest {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final TaskToken TASK =
      TaskToken.create(
          TaskKey.newBuilder().setJobId("3f2a1b00").setAttempt(1).setRole(ROLE_WORKER).build());

  private final SecuritySettings settings = new SecuritySettings();
  private final Authentication authentication =
      new Authentication(
          AuthenticationPolicy.of(settings, false, true),
          settings,
          null,
          this::scope,
          peer -> peer.getHostString().equals("10.0.0.1"),
          new NullLogger());
  private final Metadata headers = new Metadata();
  private RuntimeException failure;
  private Caller caller;

  @Test
  public void aCertificatesCommonNameIsThePrincipalAndCallsWithoutOneAreRejected() {
    assertNull(call("192.0.2.7", certificate()).closed);
    assertEquals("cn:alice", caller.principal.name);
    assertEquals(Principal.Kind.CERTIFICATE, caller.principal.kind);
    caller = null;
    Call call = call("10.0.0.1", null);
    assertEquals(Status.Code.UNAUTHENTICATED, call.closed.getCode());
    assertTrue(call.closed.toString(), call.closed.getDescription().contains("no certificate"));
    assertNull(caller);
  }

  @Test
  public void aTaskNeedsNoCertificateOnTheHostsOfTheClusterAndItsTokenIsNotForwarded() {
    headers.put(AUTHORIZATION, "Bearer " + TASK.text);
    assertNull(call("10.0.0.1", null).closed);
    assertEquals(Principal.Kind.TASK, caller.principal.kind);
    assertFalse(headers.containsKey(AUTHORIZATION));
  }

  @Test
  public void aTasksTokenFromAnotherHostOrOfAnotherSecretIsRejected() {
    headers.put(AUTHORIZATION, "Bearer " + TASK.text);
    Call call = call("192.0.2.7", null);
    assertEquals(Status.Code.UNAUTHENTICATED, call.closed.getCode());
    assertFalse(call.closed.toString(), call.closed.toString().contains(TASK.text));
    headers.discardAll(AUTHORIZATION);
    headers.put(AUTHORIZATION, "Bearer " + TaskToken.create(TASK.task).text);
    assertEquals(Status.Code.UNAUTHENTICATED, call("10.0.0.1", certificate()).closed.getCode());
    assertNull(caller);
  }

  @Test
  public void noAnswerLeavesAMethodThatHasNotAskedGuard() {
    Call call =
        call(
            "192.0.2.7",
            certificate(),
            (authenticated, given) -> {
              ListNodesResponse answer = ListNodesResponse.getDefaultInstance();
              assertThrows(IllegalStateException.class, () -> authenticated.sendMessage(answer));
              Caller.KEY.get().markAuthorized();
              authenticated.sendMessage(answer);
              return new ServerCall.Listener<ListNodesRequest>() {};
            });
    assertEquals(1, call.sent);
  }

  @Test
  public void unexpectedFailuresDoNotShowInternals() {
    headers.put(AUTHORIZATION, "Bearer " + TASK.text);
    failure = new IllegalStateException("internals");
    Status closed = call("10.0.0.1", null).closed;
    assertEquals(Status.Code.INTERNAL, closed.getCode());
    assertTrue(closed.toString(), closed.getDescription().endsWith(" [code=INTERNAL_ERROR]"));
    assertFalse(closed.toString(), closed.getDescription().contains("internals"));
    failure = new IgniteException(new NodeStoppingException("stopping"));
    closed = call("10.0.0.1", null).closed;
    assertEquals(Status.Code.UNAVAILABLE, closed.getCode());
    assertTrue(closed.toString(), closed.getDescription().contains("Call another node"));
  }

  private Optional<TaskScope> scope(TaskToken token) {
    if (failure != null) {
      throw failure;
    }
    return token.digest().equals(TASK.digest())
        ? Optional.of(TaskScope.of(token.task, Job.getDefaultInstance()))
        : Optional.empty();
  }

  private Call call(String host, X509Certificate certificate) {
    return call(
        host,
        certificate,
        (authenticated, given) -> {
          caller = Caller.KEY.get();
          return new ServerCall.Listener<ListNodesRequest>() {};
        });
  }

  private Call call(
      String host,
      X509Certificate certificate,
      ServerCallHandler<ListNodesRequest, ListNodesResponse> method) {
    Call call = new Call(host);
    Context.current()
        .withValue(PeerCertificate.KEY, certificate)
        .run(() -> authentication.interceptCall(call, headers, method));
    return call;
  }

  private static X509Certificate certificate() {
    return new TestAuthority("authority")
        .sign("alice", TestAuthority.keys("EC").getPublic(), Duration.ofHours(1));
  }

  private static final class Call extends ServerCall<ListNodesRequest, ListNodesResponse> {
    private final Attributes attributes;
    private Status closed;
    private int sent;

    Call(String host) {
      attributes =
          Attributes.newBuilder()
              .set(Grpc.TRANSPORT_ATTR_REMOTE_ADDR, new InetSocketAddress(host, 1))
              .build();
    }

    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(ListNodesResponse message) {
      sent++;
    }

    @Override
    public void close(Status status, Metadata trailers) {
      closed = status;
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public Attributes getAttributes() {
      return attributes;
    }

    @Override
    public MethodDescriptor<ListNodesRequest, ListNodesResponse> getMethodDescriptor() {
      return NodeApiServiceGrpc.getListNodesMethod();
    }
  }
}
