package io.tensorflowignite.node;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.ignite.Ignite;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.lifecycle.LifecycleBean;
import org.apache.ignite.lifecycle.LifecycleEventType;

/**
 * An action before Ignite stops this node. When Ignite cancels services, it holds their lock, and
 * the services of jobs on this node do not work. Before that, everything still works.
 */
public final class StopHook implements LifecycleBean, AutoCloseable {
  private final IgniteConfiguration configuration;
  private final Runnable action;
  private final AtomicBoolean done = new AtomicBoolean();

  private StopHook(IgniteConfiguration configuration, Runnable action) {
    this.configuration = configuration;
    this.action = action;
  }

  /** Ignite reads its list of lifecycle beans when the node stops. */
  static StopHook install(Ignite ignite, Runnable action) {
    StopHook hook = new StopHook(ignite.configuration(), action);
    List<LifecycleBean> beans = hook.beans();
    beans.add(hook);
    hook.configuration.setLifecycleBeans(beans.toArray(new LifecycleBean[0]));
    return hook;
  }

  private List<LifecycleBean> beans() {
    LifecycleBean[] beans = configuration.getLifecycleBeans();
    return beans == null ? new ArrayList<>() : new ArrayList<>(Arrays.asList(beans));
  }

  @Override
  public void onLifecycleEvent(LifecycleEventType event) {
    if (event == LifecycleEventType.BEFORE_NODE_STOP) {
      run();
    }
  }

  private void run() {
    if (done.compareAndSet(false, true)) {
      action.run();
    }
  }

  /** Runs the actions before the stop of a node, which then do not run again. */
  public static void runNow(Ignite ignite) {
    LifecycleBean[] beans = ignite.configuration().getLifecycleBeans();
    for (LifecycleBean bean : beans == null ? new LifecycleBean[0] : beans) {
      if (bean instanceof StopHook) {
        ((StopHook) bean).run();
      }
    }
  }

  @Override
  public void close() {
    List<LifecycleBean> beans = beans();
    beans.remove(this);
    configuration.setLifecycleBeans(beans.toArray(new LifecycleBean[0]));
  }
}
