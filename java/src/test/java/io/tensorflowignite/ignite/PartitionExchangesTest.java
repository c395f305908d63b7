package io.tensorflowignite.ignite;

import static org.junit.Assert.assertEquals;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.ignite.internal.processors.cache.distributed.dht.preloader.PartitionsExchangeAware;
import org.junit.Test;

public class PartitionExchangesTest {
  @Test
  public void theObserverIsNotifiedByTheMethodsThatThisVersionOfIgniteCalls() throws Exception {
    List<String> notified = new ArrayList<>();
    PartitionsExchangeAware adapter =
        new PartitionExchanges.Adapter(
            null,
            new ExchangeObserver() {
              @Override
              public void onBegin(PartitionExchange exchange) {
                notified.add("begin");
              }

              @Override
              public void onEnd(PartitionExchange exchange) {
                notified.add("end");
              }
            });
    call(adapter, "onInitBeforeTopologyLock");
    call(adapter, "onDoneBeforeTopologyUnlock");
    assertEquals(List.of("begin", "end"), notified);
  }

  private static void call(PartitionsExchangeAware adapter, String name) throws Exception {
    List<Method> named =
        Stream.of(PartitionsExchangeAware.class.getMethods())
            .filter(method -> method.getName().equals(name))
            .collect(Collectors.toList());
    assertEquals(name, 1, named.size());
    named.get(0).invoke(adapter, new Object[named.get(0).getParameterCount()]);
  }
}
