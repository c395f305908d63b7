package io.tensorflowignite.rpc;

import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import java.util.HashMap;
import java.util.Map;

/** Gives each call its connection, and runs actions at the end of a connection. */
public final class ConnectionTracker extends ServerTransportFilter implements ServerInterceptor {
  private static final Attributes.Key<Connection> CONNECTION =
      Attributes.Key.create("tensorflow-ignite-connection");
  private static final Context.Key<Connection> CURRENT =
      Context.key("tensorflow-ignite-connection");

  /** The connection of the current call. */
  public static Connection current() {
    return CURRENT.get();
  }

  static Connection of(Attributes attributes) {
    return attributes.get(CONNECTION);
  }

  @Override
  public Attributes transportReady(Attributes attributes) {
    return attributes.toBuilder().set(CONNECTION, new Connection()).build();
  }

  @Override
  public void transportTerminated(Attributes attributes) {
    Connection connection = attributes == null ? null : attributes.get(CONNECTION);
    if (connection != null) {
      connection.end();
    }
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    Context context = Context.current().withValue(CURRENT, of(call.getAttributes()));
    return Contexts.interceptCall(context, call, headers, next);
  }

  /** One connection of a client. */
  public static final class Connection {
    private final Map<Object, Runnable> actions = new HashMap<>();
    private boolean ended;

    /** Of responses that wait for this client. {@link ResponseMemory} alone uses it. */
    long responseBytes;

    /**
     * Runs an action when the connection ends; at once if it has ended.
     *
     * @param key identifies the action for {@link #runNow}
     */
    public void onEnd(Object key, Runnable action) {
      synchronized (this) {
        if (!ended) {
          actions.put(key, action);
          return;
        }
      }
      action.run();
    }

    /** Runs an action now instead of at the end; an unknown key is ignored. */
    public void runNow(Object key) {
      Runnable action;
      synchronized (this) {
        action = actions.remove(key);
      }
      if (action != null) {
        action.run();
      }
    }

    void end() {
      Map<Object, Runnable> left;
      synchronized (this) {
        ended = true;
        left = new HashMap<>(actions);
        actions.clear();
      }
      left.values().forEach(Runnable::run);
    }
  }
}
