package io.tensorflowignite.api;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Hands on, within this node, that a job's row has changed. */
public final class JobChanges {
  /** Ends a subscription. */
  interface Subscription extends AutoCloseable {
    @Override
    void close();
  }

  private static final class Subscriber {
    final String jobId;
    final Runnable wake;

    Subscriber(String jobId, Runnable wake) {
      this.jobId = jobId;
      this.wake = wake;
    }
  }

  private final Set<Subscriber> subscribers = ConcurrentHashMap.newKeySet();

  Subscription subscribe(String jobId, Runnable wake) {
    Subscriber subscriber = new Subscriber(jobId, wake);
    subscribers.add(subscriber);
    return () -> subscribers.remove(subscriber);
  }

  public void changed(String jobId) {
    for (Subscriber subscriber : subscribers) {
      if (subscriber.jobId.equals(jobId)) {
        subscriber.wake.run();
      }
    }
  }
}
