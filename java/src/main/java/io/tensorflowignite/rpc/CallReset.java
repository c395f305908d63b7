package io.tensorflowignite.rpc;

import io.grpc.Context;
import java.lang.reflect.Field;
import java.util.concurrent.TimeoutException;

/**
 * Resets the stream of a call from any thread. A status would not arrive: it is queued behind
 * messages that the other end does not take or send. gRPC has no method for this, and gives calls
 * only a context without {@code cancel}.
 */
final class CallReset {
  private static final Field ANCESTOR = ancestor();

  private CallReset() {}

  /** The context of a call whose end resets the call's stream. */
  static Context.CancellableContext handle(Context context) {
    try {
      return (Context.CancellableContext) ANCESTOR.get(context);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  /** gRPC resets the stream of a call whose context has timed out. */
  static void reset(Context.CancellableContext handle, String reason) {
    handle.cancel(new TimeoutException(reason));
  }

  private static Field ancestor() {
    try {
      Field field = Context.class.getDeclaredField("cancellableAncestor");
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }
}
