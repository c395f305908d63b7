package io.tensorflowignite.ignite;

import java.lang.reflect.Proxy;
import org.apache.ignite.internal.processors.security.IgniteSecurity;

/** Users of an Ignite whose security always fails. */
public final class FailingUsers {
  private FailingUsers() {}

  public static IgniteUsers of(Exception error) {
    return new IgniteUsers(
        (IgniteSecurity)
            Proxy.newProxyInstance(
                IgniteSecurity.class.getClassLoader(),
                new Class<?>[] {IgniteSecurity.class},
                (proxy, method, arguments) -> {
                  throw error;
                }));
  }
}
