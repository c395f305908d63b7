package io.tensorflowignite.http;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import io.tensorflowignite.rpc.InProcessApi;
import io.tensorflowignite.v1.GetJobRequest;
import io.tensorflowignite.v1.GetJobResponse;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobSpec;
import io.tensorflowignite.v1.ListJobsRequest;
import io.tensorflowignite.v1.ListJobsResponse;
import io.tensorflowignite.v1.NodeApiServiceGrpc;
import io.tensorflowignite.v1.StopJobRequest;
import io.tensorflowignite.v1.StopJobResponse;
import io.tensorflowignite.v1.StreamLogsRequest;
import io.tensorflowignite.v1.StreamLogsResponse;
import io.tensorflowignite.v1.WatchJobRequest;
import io.tensorflowignite.v1.WatchJobResponse;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** The page's files and calls, over real sockets. */
public class PageTest {
  private static final String MARKUP = "<img src=x onerror=alert(1)>";
  private static final String BROKEN = "{\"job_id\": \"broken\"}";
  private static final int LINE_BYTES = 100_000;
  private static final int LINES = 50;
  private static final Path FILES =
      Paths.get("java/src/main/resources/io/tensorflowignite/http/page");

  private final HttpClient client = HttpClient.newHttpClient();
  private final BodyMemory bodies = new BodyMemory(1 << 20, 1L << 30);
  private final Jobs jobs = new Jobs();
  private HttpApi http;

  @Before
  public void start() {
    http = TestPort.start(0, bodies, new NoHealth(), jobs);
  }

  @After
  public void stop() {
    http.close();
  }

  @Test
  public void aCallIsOneOfTheServiceWithItsRequestAndResponseAsJson() throws Exception {
    HttpResponse<String> answer = call("ListJobs", "{\"page_size\": 7}");
    assertEquals(200, answer.statusCode());
    assertEquals("application/json", header(answer, "Content-Type"));
    assertEquals(
        "{\"jobs\":[{\"id\":\"7 none\",\"spec\":{\"name\":\"" + MARKUP + "\"}}]}",
        answer.body().replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u003d", "="));
  }

  @Test
  public void theCallHasTheCredentialsOfTheHeaderAlone() throws Exception {
    HttpRequest.Builder request =
        request("ListJobs")
            .header("Authorization", "Bearer secret")
            .header("Cookie", "token=other");
    assertTrue(send(request, "{}").body().contains("\"0 Bearer secret\""));
  }

  @Test
  public void noOtherMethodIsCalled() throws Exception {
    for (String other :
        List.of("SubmitJob", "RemoveJob", "UploadCode", "DrainNode", "PutBlocks", "Predict", "")) {
      HttpResponse<String> answer = call(other, "{}");
      assertEquals(404, answer.statusCode());
      assertTrue(
          answer.body(),
          answer
              .body()
              .contains(
                  "Its methods are GetFile, GetJob, GetMetrics, ListDeployments, ListDirectory,"
                      + " ListJobs, ListNodes, ReadBlocks, StopJob, StreamLogs, WatchJob."));
    }
  }

  @Test
  public void errorsHaveTheStatusOfTheirCode() throws Exception {
    assertError(404, "no such job", call("GetJob", "{\"job_id\": \"NOT_FOUND\"}"));
    assertError(403, "no such job", call("GetJob", "{\"job_id\": \"PERMISSION_DENIED\"}"));
    assertError(503, "no such job", call("WatchJob", "{\"job_id\": \"UNAVAILABLE\"}"));
    assertError(400, "no GetJobRequest as JSON", call("GetJob", "{\"other\": 1}"));
    assertError(400, "no WatchJobRequest as JSON", call("WatchJob", "{"));
    assertError(413, "A body has at most 65,536", call("GetJob", " ".repeat(70_000)));
    HttpResponse<String> refused = call("GetJob", "{\"job_id\": \"UNAUTHENTICATED\"}");
    assertError(401, "no such job", refused);
    // A browser would ask for a password itself, and then send it also for other pages.
    assertEquals("Bearer realm=\"tensorflow-ignite\"", header(refused, "WWW-Authenticate"));
  }

  @Test
  public void callsOfOtherPagesAreRefused() throws Exception {
    String host = "127.0.0.1:" + http.port();
    assertError(
        403,
        "comes from the page of 'http://other.example'",
        send(request("StopJob").header("Origin", "http://other.example"), "{}"));
    assertError(403, "", send(request("StopJob").header("Origin", "null"), "{}"));
    assertError(403, "", send(request("StopJob").header("Origin", "http://127.0.0.1:1"), "{}"));
    assertError(403, "", send(request("StopJob").header("Sec-Fetch-Site", "same-site"), "{}"));
    assertError(
        415, "is of type 'text/plain'", send(request("StopJob", "text/plain"), "{\"job_id\": 1}"));
    HttpResponse<String> read = client.send(get("/api/ListJobs"), text());
    assertError(405, "sent by POST", read);
    assertEquals("POST", header(read, "Allow"));
    assertEquals(0, jobs.stops.get());
    assertEquals(
        200,
        send(request("StopJob").header("Origin", "http://" + host), "{\"job_id\": \"a\"}")
            .statusCode());
    assertEquals(1, jobs.stops.get());
  }

  @Test
  public void aNameThatAnotherPageMayHaveMadePointHereIsRefused() throws Exception {
    for (String host :
        List.of("127.0.0.1", "localhost", TestPort.HOST, "NODE-1.example", "[::1]")) {
      assertEquals(host, 200, statusWith(host + ":" + http.port()));
    }
    for (String host : List.of("other.example", "localhost.other.example", "127.0.0.1.other", "")) {
      assertEquals(host, 403, statusWith(host + ":" + http.port()));
    }
  }

  @Test
  public void answersSayWhatABrowserMayDo() throws Exception {
    HttpResponse<String> page = client.send(get("/"), text());
    assertEquals(200, page.statusCode());
    String policy = header(page, "Content-Security-Policy");
    for (String rule :
        List.of(
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'")) {
      assertTrue(policy, policy.contains(rule));
    }
    assertFalse(policy, policy.contains("unsafe"));
    for (HttpResponse<String> each :
        List.of(page, call("ListJobs", "{}"), call("SubmitJob", "{}"), call("GetJob", "{"))) {
      assertEquals("nosniff", header(each, "X-Content-Type-Options"));
      assertEquals("DENY", header(each, "X-Frame-Options"));
      assertEquals("no-referrer", header(each, "Referrer-Policy"));
      assertTrue(header(each, "Content-Security-Policy").contains("frame-ancestors 'none'"));
    }
    assertEquals("no-store", header(call("ListJobs", "{}"), "Cache-Control"));
    DateTimeFormatter.RFC_1123_DATE_TIME.parse(header(call("ListJobs", "{}"), "Date"));
    DateTimeFormatter.RFC_1123_DATE_TIME.parse(header(call("StreamLogs", BROKEN), "Date"));
    assertFalse(
        client.send(get("/metrics"), text()).headers().map().containsKey("X-Frame-Options"));
  }

  @Test
  public void eachFileIsServedAndNamesNoOtherHost() throws Exception {
    Pattern imports = Pattern.compile("(?:from \"\\./|href=\"page/|src=\"page/)([\\w.]+)\"");
    List<String> served = new ArrayList<>();
    try (Stream<Path> files = Files.list(FILES)) {
      for (Path file : files.collect(Collectors.toList())) {
        String name = file.getFileName().toString();
        String path = name.equals("index.html") ? "/" : "/page/" + name;
        HttpResponse<String> answer = client.send(get(path), text());
        assertEquals(name, Files.readString(file), answer.body());
        served.add(name);
        String own = answer.body().replace("http://www.w3.org/2000/svg", "");
        assertFalse(name, own.contains("//www.") || own.contains("src=\"http"));
        // Markup of texts, code of texts, and what the policy would refuse.
        assertFalse(
            name, own.matches("(?s).*(innerHTML|outerHTML|insertAdjacentHTML|document\\.write).*"));
        assertFalse(name, own.matches("(?s).*(<script>|<style| style=\"| on\\w+=\").*"));
      }
      for (Path file : Files.list(FILES).collect(Collectors.toList())) {
        Matcher used = imports.matcher(Files.readString(file));
        while (used.find()) {
          assertTrue(used.group(1), served.contains(used.group(1)));
        }
      }
    }
    assertEquals(404, client.send(get("/page/../HttpApi.class"), text()).statusCode());
    assertEquals(404, client.send(get("/page/"), text()).statusCode());
  }

  @Test
  public void headHasTheStatusAndTheHeadersOfGet() throws Exception {
    for (String path : List.of("/", "/page/app.js", "/health/live", "/health/ready")) {
      HttpRequest head =
          HttpRequest.newBuilder(uri(path))
              .method("HEAD", HttpRequest.BodyPublishers.noBody())
              .build();
      HttpResponse<String> answer = client.send(head, text());
      assertEquals(path, 200, answer.statusCode());
      assertEquals(path, "", answer.body());
      assertEquals(
          path,
          header(client.send(get(path), text()), "Content-Type"),
          header(answer, "Content-Type"));
    }
  }

  @Test
  public void aResponseThatWaitsForNoThreadIsJsonAtOnce() throws Exception {
    try (InProcessApi services = TestPort.services(jobs)) {
      // Thousands of responses that wait for a thread would fill the heap.
      PageApi page = new PageApi(services.channel(), waiting -> fail("it waits for a thread"));
      ListenableFuture<HttpAnswer> answer =
          page.answer(
              NodeApiServiceGrpc.getListJobsMethod(),
              "{}".getBytes(StandardCharsets.US_ASCII),
              new Metadata());
      assertTrue(answer.isDone());
      assertEquals(200, answer.get().status);
    }
  }

  @Test
  public void aStreamIsLinesAndHasOneOfThemInMemory() throws Exception {
    try (BufferedReader lines = stream("StreamLogs", "{\"job_id\": \"long\"}")) {
      for (int line = 0; line < LINES; line++) {
        JsonObject piece = JsonParser.parseString(lines.readLine()).getAsJsonObject();
        assertEquals(4 * LINE_BYTES / 3.0, piece.get("data").getAsString().length(), 4);
        assertEquals(line, piece.has("index") ? piece.get("index").getAsInt() : 0);
      }
      assertEquals(null, lines.readLine());
    }
    // As JSON, without a second line.
    assertTrue("" + jobs.most.get(), jobs.most.get() < 1.5 * LINE_BYTES);
    await(() -> bodies.used() == 0);
  }

  @Test
  public void anErrorAfterTheFirstLineIsTheLastLine() throws Exception {
    HttpResponse<String> answer = call("StreamLogs", BROKEN);
    assertEquals(200, answer.statusCode());
    assertEquals("{\"attempt\":1}\n{\"error\":\"gone\"}\n", answer.body());
  }

  @Test
  public void aCallEndsWithItsClientAndANodeHasABoundedNumberOfThem() throws Exception {
    List<BufferedReader> open = new ArrayList<>();
    for (int stream = 0; stream < JsonStream.MAX_STREAMS; stream++) {
      open.add(stream("WatchJob", "{\"job_id\": \"open\"}"));
      open.get(stream).readLine();
    }
    assertError(
        429,
        "100 streams from this node to pages are open",
        call("WatchJob", "{\"job_id\": \"open\"}"));
    // Predictions and other calls have connections and threads of their own.
    assertEquals(200, call("ListJobs", "{}").statusCode());
    for (BufferedReader each : open) {
      each.close();
    }
    assertTrue(jobs.cancelled.await(60, TimeUnit.SECONDS));
  }

  private HttpResponse<String> call(String method, String body) throws Exception {
    return send(request(method), body);
  }

  private HttpRequest.Builder request(String method) {
    return request(method, "application/json");
  }

  private HttpRequest.Builder request(String method, String type) {
    return HttpRequest.newBuilder(uri("/api/" + method)).header("Content-Type", type);
  }

  private HttpResponse<String> send(HttpRequest.Builder request, String body) throws Exception {
    return client.send(request.POST(HttpRequest.BodyPublishers.ofString(body)).build(), text());
  }

  private HttpRequest get(String path) {
    return HttpRequest.newBuilder(uri(path)).build();
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + http.port() + path);
  }

  private static HttpResponse.BodyHandler<String> text() {
    return HttpResponse.BodyHandlers.ofString();
  }

  private BufferedReader stream(String method, String body) throws Exception {
    HttpRequest request = request(method).POST(HttpRequest.BodyPublishers.ofString(body)).build();
    InputStream lines = client.send(request, HttpResponse.BodyHandlers.ofInputStream()).body();
    return new BufferedReader(new InputStreamReader(lines, StandardCharsets.UTF_8));
  }

  /** Java's own client sets the header itself. */
  private int statusWith(String host) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", http.port())) {
      String head =
          "POST /api/ListJobs HTTP/1.1\r\nHost: "
              + host
              + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
              + "Connection: close\r\n\r\n{}";
      socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
      String status = new BufferedReader(new InputStreamReader(socket.getInputStream())).readLine();
      return Integer.parseInt(status.split(" ")[1]);
    }
  }

  private static String header(HttpResponse<String> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static void assertError(int status, String text, HttpResponse<String> answer) {
    assertEquals(answer.body(), status, answer.statusCode());
    String error =
        JsonParser.parseString(answer.body()).getAsJsonObject().get("error").getAsString();
    assertTrue(error, error.contains(text));
  }

  private interface Condition {
    boolean holds();
  }

  private static void await(Condition condition) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < end);
      Thread.sleep(1);
    }
  }

  /** Knows the caller, as Authentication does. */
  private static final class NoHealth implements NodeHealth {
    @Override
    public List<HealthCheck> live() {
      return List.of();
    }

    @Override
    public List<HealthCheck> ready() {
      return List.of();
    }
  }

  private final class Jobs extends NodeApiServiceGrpc.NodeApiServiceImplBase {
    final AtomicLong stops = new AtomicLong();
    final AtomicLong most = new AtomicLong();
    final CountDownLatch cancelled = new CountDownLatch(JsonStream.MAX_STREAMS);

    @Override
    public void listJobs(ListJobsRequest request, StreamObserver<ListJobsResponse> answer) {
      Job job =
          Job.newBuilder()
              .setId(request.getPageSize() + " " + TestPort.CALLER.get())
              .setSpec(JobSpec.newBuilder().setName(MARKUP))
              .build();
      answer.onNext(ListJobsResponse.newBuilder().addJobs(job).build());
      answer.onCompleted();
    }

    @Override
    public void getJob(GetJobRequest request, StreamObserver<GetJobResponse> answer) {
      fail(request.getJobId(), answer);
    }

    @Override
    public void stopJob(StopJobRequest request, StreamObserver<StopJobResponse> answer) {
      stops.incrementAndGet();
      answer.onNext(StopJobResponse.getDefaultInstance());
      answer.onCompleted();
    }

    @Override
    public void watchJob(WatchJobRequest request, StreamObserver<WatchJobResponse> answer) {
      if (!request.getJobId().equals("open")) {
        fail(request.getJobId(), answer);
        return;
      }
      ((ServerCallStreamObserver<WatchJobResponse>) answer)
          .setOnCancelHandler(cancelled::countDown);
      answer.onNext(WatchJobResponse.getDefaultInstance());
    }

    @Override
    public void streamLogs(StreamLogsRequest request, StreamObserver<StreamLogsResponse> answer) {
      if (request.getJobId().equals("broken")) {
        answer.onNext(StreamLogsResponse.newBuilder().setAttempt(1).build());
        answer.onError(Status.UNAVAILABLE.withDescription("gone").asRuntimeException());
        return;
      }
      ServerCallStreamObserver<StreamLogsResponse> call =
          (ServerCallStreamObserver<StreamLogsResponse>) answer;
      AtomicLong sent = new AtomicLong();
      call.setOnReadyHandler(
          () -> {
            while (call.isReady() && sent.get() < LINES) {
              most.accumulateAndGet(bodies.used(), Math::max);
              ByteString data = ByteString.copyFrom(new byte[LINE_BYTES]);
              int line = (int) sent.getAndIncrement();
              call.onNext(StreamLogsResponse.newBuilder().setIndex(line).setData(data).build());
              if (sent.get() == LINES) {
                call.onCompleted();
              }
            }
          });
    }

    private void fail(String code, StreamObserver<?> answer) {
      answer.onError(
          Status.Code.valueOf(code).toStatus().withDescription("no such job").asRuntimeException());
    }
  }
}
