package io.tensorflowignite.http;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.google.gson.JsonParser;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.netty.buffer.PoolArenaMetric;
import io.netty.buffer.PooledByteBufAllocator;
import io.tensorflowignite.Full;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.serving.v1.Class;
import io.tensorflowignite.serving.v1.ClassificationRequest;
import io.tensorflowignite.serving.v1.ClassificationResponse;
import io.tensorflowignite.serving.v1.DataType;
import io.tensorflowignite.serving.v1.GetModelMetadataRequest;
import io.tensorflowignite.serving.v1.GetModelMetadataResponse;
import io.tensorflowignite.serving.v1.GetModelStatusRequest;
import io.tensorflowignite.serving.v1.GetModelStatusResponse;
import io.tensorflowignite.serving.v1.ModelServiceGrpc;
import io.tensorflowignite.serving.v1.ModelSpec;
import io.tensorflowignite.serving.v1.ModelVersionStatus;
import io.tensorflowignite.serving.v1.PredictRequest;
import io.tensorflowignite.serving.v1.PredictResponse;
import io.tensorflowignite.serving.v1.PredictionServiceGrpc;
import io.tensorflowignite.serving.v1.SignatureDef;
import io.tensorflowignite.serving.v1.SignatureDefMap;
import io.tensorflowignite.serving.v1.TensorInfo;
import io.tensorflowignite.serving.v1.TensorProto;
import io.tensorflowignite.serving.v1.TensorShapeProto;
import io.tensorflowignite.v1.GetMetricsRequest;
import io.tensorflowignite.v1.GetMetricsResponse;
import io.tensorflowignite.v1.MetricsServiceGrpc;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** The HTTP port over real sockets, before services whose only model returns its input. */
public class HttpApiTest {
  private static final int BODY_BYTES = 100_000;

  /** As JSON, a quarter of what all bodies may have, and more than is sent at once. */
  private static final int LARGE_FLOATS = 60_000;

  private static final String ONE = "{\"instances\": [1]}";
  private static final String PREDICT = "/v1/models/same:predict";

  private final HttpClient client = HttpClient.newHttpClient();
  private final BodyMemory bodies = new BodyMemory(BODY_BYTES, 16L * 10 * BODY_BYTES);
  private final Health health = new Health();
  private HttpApi http;

  @Before
  public void start() {
    http = TestPort.start(0, bodies, health, new Predictions(), new Statuses(), new Metrics());
  }

  @After
  public void stop() {
    http.close();
  }

  @Test
  public void aPortThatCannotBeOpenedIsNamedWithTheReason() {
    TensorFlowIgniteException refused =
        assertThrows(
            TensorFlowIgniteException.class, () -> TestPort.start(http.port(), bodies, health));
    String port = "127.0.0.1:" + http.port() + ".." + http.port();
    assertTrue(refused.getMessage(), refused.getMessage().contains(port));
    assertTrue(refused.getMessage(), refused.getMessage().contains("Address already in use"));
    assertTrue(refused.getMessage(), refused.getMessage().contains("tensorflow.ignite.http.port"));
  }

  @Test
  public void rowsAndColumnsArePredicted() throws Exception {
    HttpResponse<String> rows = post(PREDICT, "{\"instances\": [[1], [2.5]]}");
    assertEquals(200, rows.statusCode());
    assertEquals("application/json", rows.headers().firstValue("Content-Type").get());
    assertEquals("{\"predictions\":[[1.0],[2.5]]}", rows.body());
    assertEquals(
        "{\"outputs\":[1.0,2.5]}",
        post("/v1/models/same/versions/3:predict", "{\"inputs\": {\"x\": [1, 2.5]}}").body());
  }

  @Test
  public void theVersionWhoseSignatureWasReadPredictsForTheCaller() throws Exception {
    assertEquals(
        "{\"predictions\":[1.0]}", post("/v1/models/same/labels/canary:predict", ONE).body());
    assertEquals("version 3, caller none", Predictions.last);
    post(request(PREDICT).header("Authorization", "Bearer secret"), ONE);
    assertEquals("version 3, caller Bearer secret", Predictions.last);
  }

  @Test
  public void errorsHaveTheStatusesAndTextsOfServing() throws Exception {
    assertError(404, "Servable not found for request: Latest(none)", "none", ONE);
    assertError(400, "Missing 'inputs' or 'instances' key", "same", "{}");
    assertError(400, "JSON Parse error: ", "same", "{\"instances\": [1");
    assertError(429, "full", "full", ONE);
    assertError(503, "gone", "gone", ONE);
    assertError(
        400,
        "Serving signature name: \"other\" not found in signature def",
        "same",
        "{\"signature_name\": \"other\", \"instances\": [1]}");
    assertError(500, "The node's log has the details", "broken", ONE);
    HttpResponse<String> path = post("/v1/models/same:guess", "{}");
    assertEquals(400, path.statusCode());
    assertEquals("{\"error\":\"Malformed request: POST /v1/models/same:guess\"}", path.body());
    assertEquals(404, get("/other").statusCode());
    assertEquals(400, get("/v1/models/same:predict").statusCode());
  }

  @Test
  public void theDateOfAnAnswerHasTwoDigitsForTheDayOnEachDay() throws Exception {
    assertEquals(
        "Thu, 01 Jan 2026 10:00:01 GMT", Exchange.date(Instant.parse("2026-01-01T10:00:01.9Z")));
    String sent = get("/health/live").headers().firstValue("Date").get();
    assertTrue(sent, sent.matches("\\w{3}, \\d{2} \\w{3} \\d{4} [\\d:]{8} GMT"));
  }

  @Test
  public void aCompressedBodyIsRefusedWithTheReasonAndTheConnectionGoesOn() throws Exception {
    HttpResponse<String> refused = post(request(PREDICT).header("Content-Encoding", "gzip"), ONE);
    assertEquals(415, refused.statusCode());
    assertTrue(refused.body(), refused.body().contains("compressed (Content-Encoding: gzip)"));
    assertEquals(
        200, post(request(PREDICT).header("Content-Encoding", "identity"), ONE).statusCode());
  }

  @Test
  public void metadataStatusClassesAndMetricsAreReturned() throws Exception {
    String info =
        "{'dtype': 'DT_FLOAT', 'tensor_shape': {'dim': [{'size': '-1', 'name': ''}],"
            + " 'unknown_rank': false}, 'name': ''}";
    assertJson(
        "{'model_spec': {'name': 'same', 'signature_name': '', 'version': '3'},"
            + " 'metadata': {'signature_def': {'signature_def': {'serving_default': {"
            + "'inputs': {'x': "
            + info
            + "}, 'outputs': {'y': "
            + info
            + "}, 'method_name': ''}}}}}",
        "/v1/models/same/metadata");
    assertJson(
        "{'model_version_status': [{'version': '3', 'state': 'AVAILABLE'}]}", "/v1/models/same");
    assertEquals(
        "{\"results\":[[[\"a\",0.5]]]}",
        post("/v1/models/same:classify", "{\"examples\": [{\"f\": 1.5}]}").body());
    HttpResponse<String> metrics = get("/metrics");
    assertEquals("requests_total 7.0\n# EOF\n", metrics.body());
    assertTrue(
        metrics.headers().firstValue("Content-Type").get().startsWith("application/openmetrics"));
  }

  @Test(timeout = 60_000)
  public void callersWithoutCredentialsGetEachCheckOfTheHealthWithItsReason() throws Exception {
    assertEquals(200, get("/health/live").statusCode());
    assertJson(
        "{'ok': true, 'checks': [{'name': 'ignite', 'ok': true, 'reason': 'it runs'}]}",
        "/health/live");
    assertEquals(200, get("/health/ready").statusCode());
    health.isOk = false;
    assertEquals(503, get("/health/live").statusCode());
    HttpResponse<String> ready = get("/health/ready");
    while (ready.statusCode() == 200) {
      // An answer holds for a short time.
      ready = get("/health/ready");
    }
    assertEquals(503, ready.statusCode());
    assertEquals("application/json", ready.headers().firstValue("Content-Type").get());
    assertTrue(ready.body(), ready.body().contains("\"reason\":\"it is drained\""));
    assertEquals(404, post("/health/ready", "").statusCode());
  }

  @Test
  @Category(Full.class)
  public void checksThatDoNotEndAreNotReadyAndHoldOneThread() throws Exception {
    health.blocked.lock();
    try {
      List<CompletableFuture<HttpResponse<String>>> waiting = new ArrayList<>();
      for (int i = 0; i < 500; i++) {
        waiting.add(
            client.sendAsync(
                request("/health/ready").build(), HttpResponse.BodyHandlers.ofString()));
      }
      for (CompletableFuture<HttpResponse<String>> answer : waiting) {
        assertEquals(503, answer.get().statusCode());
        assertTrue(answer.get().body(), answer.get().body().contains("have not ended after 5 s"));
      }
      assertEquals(200, get("/health/live").statusCode());
      assertTrue("calls: " + health.calls, health.calls.get() <= 2);
    } finally {
      health.blocked.unlock();
    }
  }

  private void assertJson(String expected, String path) throws Exception {
    assertEquals(
        JsonParser.parseString(expected.replace('\'', '"')),
        JsonParser.parseString(get(path).body()));
  }

  @Test
  @Category(Full.class)
  public void aLargeBodyIsRefusedBeforeItArrivesAlsoIfItsLengthIsUnknown() throws Exception {
    String chunk = "4000\r\n" + " ".repeat(0x4000) + "\r\n";
    for (String large :
        List.of(
            "Content-Length: 104857600\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n" + chunk.repeat(BODY_BYTES / 0x4000 + 1))) {
      try (Socket socket = open(head(PREDICT) + large)) {
        String answer = readAll(socket);
        assertTrue(answer, answer.startsWith("HTTP/1.1 413"));
        assertTrue(answer, answer.contains("A body has at most 100,000"));
      }
    }
  }

  @Test
  @Category(Full.class)
  public void aClientThatStillSendsLongAfterItsRefusalReadsIt() throws Exception {
    byte[] part = new byte[1 << 10];
    try (Socket socket = open(head(PREDICT) + "Content-Length: 104857600\r\n\r\n")) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Exchange.LINGER_MS + 2_000);
      while (System.nanoTime() < end) {
        socket.getOutputStream().write(part);
        TimeUnit.MILLISECONDS.sleep(100);
      }
      assertBegins("HTTP/1.1 413", socket);
    }
  }

  @Test
  @Category(Full.class)
  public void aClientThatDoesNotEndARequestWithoutBodyIsDisconnected() throws Exception {
    try (Socket socket =
        open("GET /metrics HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")) {
      assertTrue(readAll(socket).startsWith("HTTP/1.1 200"));
    }
  }

  @Test
  public void requestsThatAreSentWithoutWaitingAreAnsweredInTheirOrder() throws Exception {
    String predict = request(PREDICT, ONE);
    String other = "GET /other HTTP/1.1\r\nHost: h\r\n\r\n";
    String last = "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    int pairs = 2_000;
    try (Socket socket = open("")) {
      CompletableFuture<String> answers =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return readAll(socket);
                } catch (IOException e) {
                  throw new UncheckedIOException(e);
                }
              });
      // What follows the last request is not one of the connection any more.
      String all = (predict + other).repeat(pairs) + last + predict;
      socket.getOutputStream().write(bytes(all));
      List<String> statuses =
          Pattern.compile("HTTP/1.1 (\\d+)")
              .matcher(answers.get(60, TimeUnit.SECONDS))
              .results()
              .map(found -> found.group(1))
              .collect(Collectors.toList());
      List<String> expected = new ArrayList<>();
      for (int pair = 0; pair < pairs; pair++) {
        expected.addAll(List.of("200", "404"));
      }
      expected.add("200");
      assertEquals(expected, statuses);
    }
  }

  @Test
  public void aClientThatReadsNoAnswersIsNotReadAnyMore() throws Exception {
    ByteBuffer requests = ByteBuffer.wrap(bytes("GET / HTTP/1.1\r\n\r\n".repeat(1_000)));
    try (SocketChannel channel = SocketChannel.open()) {
      channel.setOption(StandardSocketOptions.SO_SNDBUF, 1 << 16);
      channel.setOption(StandardSocketOptions.SO_RCVBUF, 1 << 16);
      channel.connect(new InetSocketAddress("127.0.0.1", http.port()));
      channel.configureBlocking(false);
      long sent = 0;
      long moved = System.nanoTime();
      while (System.nanoTime() - moved < TimeUnit.SECONDS.toNanos(2)) {
        int count = channel.write(requests);
        if (count > 0) {
          moved = System.nanoTime();
        }
        sent += count;
        if (!requests.hasRemaining()) {
          requests.rewind();
        }
        // The buffers of the node's socket have some megabytes.
        assertTrue("bytes " + sent, sent < 8 << 20);
      }
      assertEquals(404, get("/other").statusCode());
    }
  }

  @Test
  public void connectionsThatEndWithinTheirNextRequestAreForgotten() throws Exception {
    String whole = request("/v1/models/waits:predict", ONE);
    String begun = whole.substring(0, whole.length() - ONE.length() + 1);
    List<Socket> sockets = new ArrayList<>();
    while (sockets.size() < HttpApi.MAX_CONNECTIONS) {
      sockets.add(open(whole + begun));
      // Of requests that come faster than they are begun, a node refuses those beyond 2,000.
      if (sockets.size() % 1_000 == 0) {
        await(() -> Predictions.WAITING.size() == sockets.size());
      }
    }
    assertFalse("one too many", isAnswered("/metrics"));
    close(sockets);
    Predictions.WAITING.forEach(waiting -> waiting.onError(Status.ABORTED.asRuntimeException()));
    await(() -> isAnswered("/metrics"));
  }

  private boolean isAnswered(String path) throws Exception {
    try {
      return get(path).statusCode() == 200;
    } catch (IOException e) {
      return false; // The connection was one too many.
    }
  }

  @Test
  public void whatFollowsTheLastRequestOfAConnectionKeepsNoMemory() throws Exception {
    // The first answer is taken before its request has ended: then Vert.x closes the connection.
    String first =
        "POST /other HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\n";
    String rest = "x" + head(PREDICT) + "Content-Length: 900000\r\n\r\n" + " ".repeat(60_000);
    long before = pooledBytes();
    for (int number = 0; number < 100; number++) {
      try (Socket socket = open(first)) {
        assertBegins("HTTP/1.1 404", socket);
        TimeUnit.MILLISECONDS.sleep(1);
        socket.getOutputStream().write(bytes(rest));
        readAll(socket);
      }
    }
    await(() -> pooledBytes() < before + (2 << 20));
  }

  /** Bytes of buffers of Netty's pool that are not released, or kept by threads for the next. */
  private static long pooledBytes() {
    return PooledByteBufAllocator.DEFAULT.metric().directArenas().stream()
        .mapToLong(PoolArenaMetric::numActiveBytes)
        .sum();
  }

  @Test
  public void aLargeAnswerIsCompressedForAClientThatAsksForIt() throws Exception {
    HttpResponse<InputStream> answer =
        client.send(
            request("/v1/models/large:predict")
                .header("Accept-Encoding", "gzip")
                .POST(HttpRequest.BodyPublishers.ofString(ONE))
                .build(),
            HttpResponse.BodyHandlers.ofInputStream());
    assertEquals("gzip", answer.headers().firstValue("Content-Encoding").get());
    String plain = post("/v1/models/large:predict", ONE).body();
    assertTrue("bytes " + plain.length(), plain.length() > Exchange.PART_BYTES);
    byte[] unpacked = new GZIPInputStream(answer.body()).readAllBytes();
    assertEquals(plain, new String(unpacked, StandardCharsets.UTF_8));
    await(() -> bodies.used() == 0);
  }

  @Test
  public void theBytesOfAllBodiesAreLimitedAndReleased() throws Exception {
    String unended = request(PREDICT, " ".repeat(BODY_BYTES));
    List<Socket> large = new ArrayList<>();
    for (int number = 0; number < 10; number++) {
      large.add(open(unended.substring(0, unended.length() - 1)));
    }
    // Ten bodies fit; these have not ended yet.
    await(() -> bodies.used() == 10L * (BODY_BYTES - 1));
    assertEquals(429, post(PREDICT, ONE + " ".repeat(100)).statusCode());
    close(large);
    await(() -> bodies.used() == 0);
    assertEquals(200, post(PREDICT, ONE).statusCode());
  }

  @Test
  public void theBytesOfAnswersThatNobodyReadsAreLimitedAndReleased() throws Exception {
    List<Socket> unread = new ArrayList<>();
    // Some of the requests may be refused themselves: one more until there is no memory.
    await(
        () -> {
          Socket socket = new Socket();
          socket.setReceiveBufferSize(1_024);
          socket.connect(new InetSocketAddress("127.0.0.1", http.port()));
          socket.getOutputStream().write(bytes(request("/v1/models/large:predict", ONE)));
          unread.add(socket);
          return post("/v1/models/large:predict", ONE).statusCode() == 429;
        });
    assertTrue("bytes " + bodies.used(), bodies.used() <= 10L * BODY_BYTES);
    assertEquals(200, post(PREDICT, ONE).statusCode());
    close(unread);
    await(() -> bodies.used() == 0);
    assertEquals(200, post("/v1/models/large:predict", ONE).statusCode());
  }

  @Test
  public void textsAndExamplesCountAsObjectsOnTheHeap() throws Exception {
    String texts = "{\"instances\": [" + "\"a\",".repeat(20_000) + "\"a\"]}";
    assertError(429, "Send the request again later, or fewer rows", "text", texts);
    String examples = "{\"examples\": [" + "{\"f\":1},".repeat(9_000) + "{\"f\":1}]}";
    assertEquals(429, post("/v1/models/same:classify", examples).statusCode());
    await(() -> bodies.used() == 0);
  }

  private void assertError(int status, String text, String model, String body) throws Exception {
    HttpResponse<String> answer = post("/v1/models/" + model + ":predict", body);
    assertEquals(answer.body(), status, answer.statusCode());
    String error =
        JsonParser.parseString(answer.body()).getAsJsonObject().get("error").getAsString();
    assertTrue(error, error.contains(text));
  }

  private HttpResponse<String> post(String path, String body) throws Exception {
    return post(request(path), body);
  }

  private HttpResponse<String> post(HttpRequest.Builder request, String body) throws Exception {
    return client.send(
        request.POST(HttpRequest.BodyPublishers.ofString(body)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  private HttpResponse<String> get(String path) throws Exception {
    return client.send(request(path).build(), HttpResponse.BodyHandlers.ofString());
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + http.port() + path));
  }

  private static String head(String path) {
    return "POST " + path + " HTTP/1.1\r\nHost: h\r\n";
  }

  private static String request(String path, String body) {
    return head(path) + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void assertBegins(String expected, Socket socket) throws IOException {
    byte[] begin = socket.getInputStream().readNBytes(expected.length());
    assertEquals(expected, new String(begin, StandardCharsets.UTF_8));
  }

  /** Those of a test that fails end with the port. */
  private static void close(List<Socket> sockets) throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  private Socket open(String text) throws IOException {
    Socket socket = new Socket("127.0.0.1", http.port());
    socket.setSoTimeout(30_000);
    socket.getOutputStream().write(bytes(text));
    return socket;
  }

  private static String readAll(Socket socket) throws IOException {
    StringBuilder found = new StringBuilder();
    InputStream in = socket.getInputStream();
    byte[] buffer = new byte[4096];
    try {
      for (int count; (count = in.read(buffer)) > 0; ) {
        found.append(new String(buffer, 0, count, StandardCharsets.UTF_8));
      }
    } catch (IOException e) {
      // The rest of the body was not read: the connection is reset after the answer.
    }
    return found.toString();
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private static void await(Condition condition) throws Exception {
    long deadline = System.nanoTime() + 30_000_000_000L;
    while (!condition.holds()) {
      assertTrue("nothing happened for 30 s", System.nanoTime() < deadline);
      Thread.sleep(10);
    }
  }

  private static final class Predictions extends PredictionServiceGrpc.PredictionServiceImplBase {
    static final Queue<StreamObserver<PredictResponse>> WAITING = new ConcurrentLinkedQueue<>();
    static volatile String last;

    @Override
    public void predict(PredictRequest request, StreamObserver<PredictResponse> observer) {
      ModelSpec model = request.getModelSpec();
      last = "version " + model.getVersion().getValue() + ", caller " + TestPort.CALLER.get();
      TensorProto same = request.getInputsOrThrow("x");
      switch (model.getName()) {
        case "full":
          throw Status.RESOURCE_EXHAUSTED.withDescription("full").asRuntimeException();
        case "gone":
          throw Status.UNAVAILABLE.withDescription("gone").asRuntimeException();
        case "waits":
          WAITING.add(observer);
          return;
        case "large":
          same =
              TensorProto.newBuilder()
                  .setDtype(DataType.DT_FLOAT)
                  .setTensorShape(shape(LARGE_FLOATS))
                  .setTensorContent(ByteString.copyFrom(new byte[Float.BYTES * LARGE_FLOATS]))
                  .build();
          break;
        case "broken":
          same = same.toBuilder().setTensorContent(ByteString.EMPTY).build();
          break;
        default:
      }
      observer.onNext(PredictResponse.newBuilder().putOutputs("y", same).build());
      observer.onCompleted();
    }

    private static TensorShapeProto.Builder shape(long size) {
      return TensorShapeProto.newBuilder().addDim(TensorShapeProto.Dim.newBuilder().setSize(size));
    }

    @Override
    public void classify(
        ClassificationRequest request, StreamObserver<ClassificationResponse> observer) {
      ClassificationResponse.Builder response = ClassificationResponse.newBuilder();
      response
          .getResultBuilder()
          .addClassificationsBuilder()
          .addClasses(Class.newBuilder().setLabel("a").setScore(0.5f));
      observer.onNext(response.build());
      observer.onCompleted();
    }

    @Override
    public void getModelMetadata(
        GetModelMetadataRequest request, StreamObserver<GetModelMetadataResponse> observer) {
      ModelSpec model = request.getModelSpec();
      if (model.getName().equals("none")) {
        throw Status.NOT_FOUND
            .withDescription("Servable not found for request: Latest(none)")
            .asRuntimeException();
      }
      TensorInfo input =
          TensorInfo.newBuilder()
              .setDtype(model.getName().equals("text") ? DataType.DT_STRING : DataType.DT_FLOAT)
              .setTensorShape(shape(-1))
              .build();
      SignatureDefMap signatures =
          SignatureDefMap.newBuilder()
              .putSignatureDef(
                  "serving_default",
                  SignatureDef.newBuilder().putInputs("x", input).putOutputs("y", input).build())
              .build();
      GetModelMetadataResponse.Builder response = GetModelMetadataResponse.newBuilder();
      response.getModelSpecBuilder().setName(model.getName()).getVersionBuilder().setValue(3);
      observer.onNext(response.putMetadata("signature_def", Any.pack(signatures)).build());
      observer.onCompleted();
    }
  }

  private static final class Statuses extends ModelServiceGrpc.ModelServiceImplBase {
    @Override
    public void getModelStatus(
        GetModelStatusRequest request, StreamObserver<GetModelStatusResponse> observer) {
      observer.onNext(
          GetModelStatusResponse.newBuilder()
              .addModelVersionStatus(
                  ModelVersionStatus.newBuilder()
                      .setVersion(3)
                      .setState(ModelVersionStatus.State.AVAILABLE))
              .build());
      observer.onCompleted();
    }
  }

  private static final class Health implements NodeHealth {
    final Lock blocked = new ReentrantLock();
    final AtomicInteger calls = new AtomicInteger();
    volatile boolean isOk = true;

    @Override
    public List<HealthCheck> live() {
      return List.of(new HealthCheck("ignite", isOk, isOk ? "it runs" : "it has failed"));
    }

    @Override
    public List<HealthCheck> ready() {
      calls.incrementAndGet();
      blocked.lock();
      blocked.unlock();
      return List.of(new HealthCheck("use", isOk, isOk ? "it is in use" : "it is drained"));
    }
  }

  private static final class Metrics extends MetricsServiceGrpc.MetricsServiceImplBase {
    @Override
    public void getMetrics(GetMetricsRequest request, StreamObserver<GetMetricsResponse> observer) {
      observer.onNext(
          GetMetricsResponse.newBuilder()
              .setOpenMetrics(ByteString.copyFromUtf8("requests_total 7.0\n# EOF\n"))
              .build());
      observer.onCompleted();
    }
  }
}
