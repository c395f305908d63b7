package io.tensorflowignite.api;

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

/** Tells calls by which connection they came, and what was begun for a connection of its end. */
public final class Connections extends ServerTransportFilter implements ServerInterceptor {
  private static final Attributes.Key<Connection> CONNECTION =
      Attributes.Key.create("tensorflow-ignite-connection");
  private static final Context.Key<Connection> CURRENT =
      Context.key("tensorflow-ignite-connection");

  /** That of the call that this thread answers. */
  public static Connection current() {
    return CURRENT.get();
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
    Context context = Context.current().withValue(CURRENT, call.getAttributes().get(CONNECTION));
    return Contexts.interceptCall(context, call, headers, next);
  }

  /** One connection of a client. */
  public static final class Connection {
    private final Map<Object, Runnable> atEnd = new HashMap<>();
    private boolean ended;

    /**
     * Runs something when the connection ends; at once when it has.
     *
     * @param what by which {@link #endNow} finds it
     */
    public void atEnd(Object what, Runnable run) {
      synchronized (this) {
        if (!ended) {
          atEnd.put(what, run);
          return;
        }
      }
      run.run();
    }

    /** Runs now what was to be run at the end; nothing, when nothing was. */
    public void endNow(Object what) {
      Runnable run;
      synchronized (this) {
        run = atEnd.remove(what);
      }
      if (run != null) {
        run.run();
      }
    }

    void end() {
      Map<Object, Runnable> left;
      synchronized (this) {
        ended = true;
        left = new HashMap<>(atEnd);
        atEnd.clear();
      }
      left.values().forEach(Runnable::run);
    }
  }
}
