package io.tensorflowignite.api;

import com.google.common.collect.HashMultimap;
import com.google.common.collect.Multimaps;
import com.google.common.collect.SetMultimap;

/** Notifies calls on this node when a job's row has changed. */
public final class JobChangeBus {
  /** Ends a subscription. */
  interface Subscription extends AutoCloseable {
    @Override
    void close();
  }

  private final SetMultimap<String, Runnable> callbacks =
      Multimaps.synchronizedSetMultimap(HashMultimap.create());

  Subscription subscribe(String jobId, Runnable callback) {
    callbacks.put(jobId, callback);
    return () -> callbacks.remove(jobId, callback);
  }

  public void changed(String jobId) {
    callbacks.get(jobId).forEach(Runnable::run);
  }
}
