package io.tensorflowignite.security;

import static io.tensorflowignite.security.RawCalls.bearer;
import static io.tensorflowignite.security.SecuredNode.sha256;
import static org.junit.Assert.assertEquals;

import com.google.protobuf.Message;
import io.grpc.Status;
import io.tensorflowignite.Full;
import io.tensorflowignite.LoopbackNodes;
import io.tensorflowignite.NodeService;
import io.tensorflowignite.ServiceSettings;
import io.tensorflowignite.TensorFlowService;
import io.tensorflowignite.v1.ListNodesRequest;
import io.tensorflowignite.v1.ListNodesResponse;
import io.tensorflowignite.v1.Node;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.ignite.Ignite;
import org.apache.ignite.Ignition;
import org.junit.ClassRule;
import org.junit.Test;
import org.junit.experimental.categories.Category;
import org.junit.rules.TemporaryFolder;

/** Tokens, rules and other properties that change while nodes restart one after the other. */
@Category(Full.class)
public class ItTokenChange {
  private static final String LIST_NODES = "tensorflow_ignite.v1.NodeApiService/ListNodes";
  private static final Message NODES = ListNodesRequest.getDefaultInstance();

  @ClassRule public static final TemporaryFolder FOLDER = new TemporaryFolder();

  @ClassRule public static final ServiceSettings SETTINGS = ServiceSettings.withoutPackage();

  @Test
  public void aRestartedNodeHasTheTokensTheRulesAndTheLimitsOfItsConfiguration() throws Exception {
    LoopbackNodes nodes = new LoopbackNodes(2);
    Map<String, String> before = Map.of("eve", sha256("eves"), "bob", sha256("bobs"));
    Map<String, String> after = Map.of("bob", sha256("bobs"), "ann", sha256("anns"));
    Ignite first = start(nodes, "first", 3, before, "* watch");
    Ignite second = start(nodes, "second", 3, before, "* watch");
    first.close();
    try (Ignite again = start(nodes, "first", 7, after, "ann watch")) {
      assertFollowsTheNewConfiguration(again);
      try (RawCalls calls = new RawCalls(NodeService.address(second))) {
        RawCalls.Answer nodesNow = calls.call(LIST_NODES, NODES, bearer("eves"));
        nodesNow.assertAnswered();
        assertEquals(List.of(3, 7), limits(nodesNow));
        calls.call(LIST_NODES, NODES, bearer("anns")).assertRefused(Status.Code.UNAUTHENTICATED);
      }
      second.close();
      assertFollowsTheNewConfiguration(again);
      try (Ignite open = start(nodes, "second", 7, Map.of())) {
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

  private static List<Integer> limits(RawCalls.Answer nodes) throws Exception {
    return ListNodesResponse.parseFrom(nodes.messages.get(0)).getNodesList().stream()
        .map(Node::getMaxTasks)
        .sorted()
        .collect(Collectors.toList());
  }

  private static Ignite start(
      LoopbackNodes nodes, String name, int maxTasks, Map<String, String> tokens, String... rules)
      throws Exception {
    TensorFlowService bean = new TensorFlowService();
    bean.getJobs().setMaxTasks(maxTasks);
    bean.getSecurity().setTokens(tokens).setAccess(List.of(rules));
    return Ignition.start(
        nodes
            .configuration(name, FOLDER.newFolder().toPath())
            .setServiceConfiguration(NodeService.of(bean)));
  }
}
