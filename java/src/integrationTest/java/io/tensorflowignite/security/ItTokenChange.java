package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.bearer;
import static io.tensorflowignite.security.SecuredNode.sha256;

import com.google.protobuf.Message;
import io.grpc.Status;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.v1.ListNodesRequest;
import java.util.List;
import java.util.Map;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** Tokens and rules that change while nodes restart one after the other. */
@Category(Full.class)
public class ItTokenChange {
  private static final String LIST_NODES = "tensorflow_ignite.v1.NodeApiService/ListNodes";
  private static final Message NODES = ListNodesRequest.getDefaultInstance();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  @Test
  public void aRestartedNodeHasTheTokensAndTheRulesOfItsConfiguration() throws Exception {
    LoopbackNodes nodes = new LoopbackNodes(2);
    Map<String, String> before = Map.of("eve", sha256("eves"), "bob", sha256("bobs"));
    Map<String, String> after = Map.of("bob", sha256("bobs"), "ann", sha256("anns"));
    Ignite first = start(nodes, "first", before, "* watch");
    Ignite second = start(nodes, "second", before, "* watch");
    first.close();
    try (Ignite again = start(nodes, "first", after, "ann watch")) {
      assertFollowsTheNewConfiguration(again);
      try (RawCalls calls = new RawCalls(NodeService.address(second))) {
        calls.call(LIST_NODES, NODES, bearer("eves")).assertAnswered();
        calls.call(LIST_NODES, NODES, bearer("anns")).assertRefused(Status.Code.UNAUTHENTICATED);
      }
      second.close();
      assertFollowsTheNewConfiguration(again);
      try (Ignite open = start(nodes, "second", Map.of())) {
        assertFollowsTheClustersRules(open);
      }
    } finally {
      second.close();
    }
    SETTINGS.awaitNoThreads();
  }

  private static void assertFollowsTheNewConfiguration(Ignite node) throws Exception {
    try (RawCalls calls = new RawCalls(NodeService.address(node))) {
      calls.call(LIST_NODES, NODES, bearer("eves")).assertRefused(Status.Code.UNAUTHENTICATED);
      calls.call(LIST_NODES, NODES, bearer("bobs")).assertRefused(Status.Code.PERMISSION_DENIED);
      calls.call(LIST_NODES, NODES, bearer("anns")).assertAnswered();
    }
  }

  /** Of the first node: Ignite has kept its bean, although the node has left. */
  private static void assertFollowsTheClustersRules(Ignite node) throws Exception {
    try (RawCalls calls = new RawCalls(NodeService.address(node))) {
      calls.call(LIST_NODES, NODES).assertRefused(Status.Code.UNAUTHENTICATED);
      calls.call(LIST_NODES, NODES, bearer("eves")).assertAnswered();
    }
  }

  private static Ignite start(
      LoopbackNodes nodes, String name, Map<String, String> tokens, String... rules)
      throws Exception {
    TensorFlowService bean = new TensorFlowService();
    bean.getSecurity().setTokens(tokens).setAccess(List.of(rules));
    return Ignition.start(
        nodes
            .configuration(name, FOLDER.newFolder().toPath())
            .setServiceConfiguration(NodeService.of(bean)));
  }
}
