package io.tensorflowignite.data;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_INVALID_REQUEST;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_ROW_MISMATCH;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_UNSUPPORTED_TYPE;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.tensorflowignite.Await;
import io.tensorflowignite.Full;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.data.load.CacheRemoval;
import io.tensorflowignite.data.schema.SchemaStore;
import io.tensorflowignite.v1.ExistingCache;
import io.tensorflowignite.v1.LoadCommand;
import io.tensorflowignite.v1.LoadResult;
import io.tensorflowignite.v1.ReadCommand;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import org.apache.arrow.flight.FlightClient.ClientStreamListener;
import org.apache.arrow.flight.FlightDescriptor;
import org.apache.arrow.flight.FlightRuntimeException;
import org.apache.arrow.flight.FlightStatusCode;
import org.apache.arrow.flight.PutResult;
import org.apache.arrow.flight.SyncPutListener;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.UInt1Vector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.FieldType;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.cache.CacheMode;
import org.apache.ignite.cache.QueryEntity;
import org.apache.ignite.cache.query.SqlFieldsQuery;
import org.apache.ignite.configuration.CacheConfiguration;
import org.junit.Test;
import org.junit.experimental.categories.Category;

/** A load writes all its rows unchanged into a cache, or leaves no cache. */
public class ItLoading extends DataTest {
  private static final int PIXELS = 4;

  @Test
  public void rowsAreReadBackAsTheyWereLoadedAndSqlSeesThem() throws Exception {
    assertEquals(300, load(into("my-images").setBackups(1).setPartitions(32), 3, 100));

    Schema schema = cluster.schema(command("my-images").setKey(true).build());
    assertEquals("_key", schema.getFields().get(0).getName());
    assertEquals(fields(), schema.getFields().subList(1, 4));
    assertEquals(rows(0, 300), read("my-images"));
    CacheConfiguration<?, ?> configuration = configuration("my-images");
    assertEquals(1, configuration.getBackups());
    assertEquals(32, configuration.getAffinity().partitions());
    BinaryObject object = (BinaryObject) ignite.cache("my-images").withKeepBinary().get(1L);
    assertEquals("MyImages", object.type().typeName());
    assertEquals("[1, 1, 1, 1]", Arrays.toString(object.<byte[]>field("pixels")));
    assertEquals(
        "[[10, 22.5]]",
        query("my-images", "SELECT COUNT(*), SUM(WEIGHT) FROM MyImages WHERE _KEY < 10"));

    load(into("everywhere").setReplicated(true), 1, 10);
    assertEquals(CacheMode.REPLICATED, configuration("everywhere").getCacheMode());
    assertEquals(rows(0, 10), read("everywhere"));
  }

  /** That the rows of a group lie in one partition is shown by tests/integration. */
  @Test
  public void sqlSeesBothFieldsOfAKeyThatIsAnObjectAndAppendedRowsHaveTheSame() throws Exception {
    LoadCommand.Builder command = into("together").setKeyColumn("name").setAffinityColumn("group");
    putGroups(command, 0);
    command.setExisting(ExistingCache.EXISTING_CACHE_APPEND);
    putGroups(command, 200);

    assertEquals(
        "[[20, row 107, 387.0]]",
        query(
            "together",
            "SELECT COUNT(*), MIN(NAME), MAX(WEIGHT) FROM Together WHERE \"GROUP\" = 7"));
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "rows with affinity column \"\" do not fit cache together, whose affinity column is"
            + " \"group\"",
        () -> putGroups(command.clone().clearAffinityColumn(), 400));
  }

  @Test
  public void anExistingCacheIsKeptReplacedOrAppendedToAsRequested() throws Exception {
    Schema other = new Schema(List.of(Field.nullable("pixels", new ArrowType.Int(64, true))));
    for (boolean withoutSql : new boolean[] {false, true}) {
      LoadCommand.Builder command = into("digits").setWithoutSql(withoutSql);
      load(command, 1, 10);
      assertEquals(withoutSql, configuration("digits").getQueryEntities().isEmpty());
      assertFails(
          FlightStatusCode.ALREADY_EXISTS,
          "if_exists=\"replace\" or if_exists=\"append\"",
          "[code=CACHE_EXISTS]",
          () -> load(command, 1, 5));

      command.setExisting(ExistingCache.EXISTING_CACHE_APPEND);
      assertInvalid(
          ERROR_CODE_ROW_MISMATCH,
          "do not fit cache digits, which has keys Long and columns [pixels: FixedSizeList(4) of"
              + " Int(8, false), ",
          () -> load(command, other, 1));
      assertEquals(rows(0, 10), read("digits"));
      load(command.setFirstKey(10), 1, 10);
      assertEquals(20, read("digits").size());
      assertTrue(ignite.cache("digits").containsKey(19L));

      command.setExisting(ExistingCache.EXISTING_CACHE_REPLACE).clearFirstKey();
      load(command, other, 2);
      assertEquals(2, cluster.readAll(command("digits").build()).size());
      load(command, 1, 3);
      assertEquals(rows(0, 3), read("digits"));
      ignite.destroyCache("digits");
    }
  }

  @Test
  public void appendedStructsHaveTheFieldsOfTheCache() throws Exception {
    load(into("places"), places("lat", "lon"), 1);
    LoadCommand.Builder append =
        into("places").setExisting(ExistingCache.EXISTING_CACHE_APPEND).setFirstKey(1);

    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "columns [place: Struct of x: Int(64, true) of y: Int(64, true)] do not fit cache places,"
            + " which has keys Long and columns [place: Struct of lat: Int(64, true) of lon:",
        () -> load(append, places("x", "y"), 1));
    assertEquals(1, load(append, places("lon", "lat"), 1));
  }

  private static Schema places(String... fields) {
    List<Field> numbers =
        Arrays.stream(fields)
            .map(name -> Field.nullable(name, new ArrowType.Int(64, true)))
            .collect(Collectors.toList());
    return new Schema(
        List.of(new Field("place", FieldType.nullable(ArrowType.Struct.INSTANCE), numbers)));
  }

  @Test
  public void ofAppendedRowsWithOneKeyTheLastStays() throws Exception {
    int keys = 500;
    int rows = 8 * keys;
    Schema schema =
        new Schema(
            List.of(
                Field.nullable("name", ArrowType.Utf8.INSTANCE),
                Field.nullable("n", new ArrowType.Int(64, true))));
    LoadCommand.Builder command = into("latest").setKeyColumn("name");
    put(command, schema, 1, (root, batch) -> number(root, 0, keys, keys));
    command.setExisting(ExistingCache.EXISTING_CACHE_APPEND);
    put(command, schema, 2, (root, batch) -> number(root, batch * rows, rows, keys));

    assertEquals(
        "[[" + keys + ", " + (2 * rows - keys) + "]]",
        query("latest", "SELECT COUNT(*), MIN(N) FROM Latest"));
  }

  private static void number(VectorSchemaRoot root, int first, int rows, int keys) {
    root.getFieldVectors().forEach(FieldVector::allocateNew);
    for (int row = 0; row < rows; row++) {
      byte[] name = ("name " + row % keys).getBytes(StandardCharsets.UTF_8);
      ((VarCharVector) root.getVector("name")).setSafe(row, name);
      ((BigIntVector) root.getVector("n")).setSafe(row, first + row);
    }
    root.setRowCount(rows);
  }

  /** Two appends that have counted the same keys, one after the other and at the same time. */
  @Test
  @Category(Full.class)
  public void aLoadWithoutAKeyColumnOverwritesNoRowOfAnother() throws Exception {
    LoadCommand.Builder command =
        into("grown").setExisting(ExistingCache.EXISTING_CACHE_APPEND).setFirstKey(0);
    put(
        command,
        new Schema(fields()),
        2,
        (root, batch) -> {
          fill(root, batch * 10, 10);
          if (batch == 1) {
            Await.until("the load has begun", () -> ignite.cacheNames().contains("grown"));
            assertFails(
                FlightStatusCode.RESOURCE_EXHAUSTED,
                "another load adds rows without a key column to cache grown at the same time",
                "[code=LIMIT_EXCEEDED]",
                () -> load(command.clone(), 1, 5));
          }
        });
    assertFails(
        FlightStatusCode.RESOURCE_EXHAUSTED,
        "cache grown has a row with key 7, from which the load would count its keys",
        "[code=LIMIT_EXCEEDED]",
        () -> load(command.clone().setFirstKey(7), 1, 5));
    assertEquals(rows(0, 20), read("grown"));
    assertEquals(5, load(command.clone().setFirstKey(20), 1, 5));
    assertEquals(25, read("grown").size());
  }

  @Test
  public void aLoadThatIsRefusedLeavesNoCache() {
    Schema counts = new Schema(List.of(Field.nullable("n", new ArrowType.Int(64, false))));
    for (String reserved : List.of("tensorflow-ignite-mine", "ignite-sys-cache")) {
      assertInvalid(
          ERROR_CODE_INVALID_REQUEST,
          "cache " + reserved + " cannot be loaded;",
          () -> load(into(reserved), 1, 1));
    }
    assertInvalid(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache given_up cannot be loaded: column n is of type n: Int(64, false)",
        () -> load(into("given_up"), counts, 1));
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "the rows for cache given_up ended after 20, and the sender did not report",
        () -> load(into("given_up").setSealed(true), 2, 10));
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "row 1 for cache given_up: column name is null, but part of the key;",
        () -> putWithLastNameNull("given_up", 1, 2));
    assertFalse(ignite.cacheNames().contains("given_up"));
    assertFalse(new SchemaStore(ignite).get("given_up").isPresent());
  }

  @Test
  @SuppressWarnings("deprecation")
  public void aCacheIsRemovedOnlyWhenNoneOfItsPartitionsMoves() throws Exception {
    // Partitions do not arrive before rebalance() is called.
    CacheConfiguration<Object, Object> slow = new CacheConfiguration<>("moving");
    IgniteCache<Object, Object> cache = create(slow.setRebalanceDelay(-1), 16, 1);
    fillObjects(cache, "Moving", 100);
    cluster.addNode();
    try {
      TensorFlowIgniteException late =
          assertThrows(
              TensorFlowIgniteException.class,
              () -> new CacheRemoval(ignite, 300_000_000).destroy("moving"));
      assertTrue(late.getMessage(), late.getMessage().contains("moving between nodes"));
      assertTrue(ignite.cacheNames().contains("moving"));

      FutureTask<Long> load =
          new FutureTask<>(
              () -> load(into("moving").setExisting(ExistingCache.EXISTING_CACHE_REPLACE), 1, 10));
      new Thread(load).start();
      Await.until("the load waits for the partitions", ItLoading::isRemoving);
      assertFalse(load.isDone());
      // A first call may end before they have moved.
      Await.until(
          "the load has its turn",
          () -> {
            for (int node = 0; node < 4; node++) {
              Optional.ofNullable(cluster.node(node).cache("moving"))
                  .ifPresent(IgniteCache::rebalance);
            }
            return load.isDone();
          });
      assertEquals(10L, (long) load.get());
      assertEquals(rows(0, 10), read("moving"));
      assertEquals(4, ignite.cluster().nodes().size());
    } finally {
      cluster.stopLastNode();
    }
  }

  private static boolean isRemoving() {
    return Thread.getAllStackTraces().values().stream()
        .flatMap(Arrays::stream)
        .anyMatch(frame -> frame.getClassName().equals(CacheRemoval.class.getName()));
  }

  /** 200 rows of 20 groups, in two batches. */
  private static long putGroups(LoadCommand.Builder command, int first) throws Exception {
    Schema schema =
        new Schema(
            List.of(
                fields().get(2),
                Field.nullable("group", new ArrowType.Int(32, true)),
                fields().get(1)));
    return put(
        command,
        schema,
        2,
        (root, batch) -> {
          for (int row = 0; row < 100; row++) {
            int number = first + batch * 100 + row;
            ((Float4Vector) root.getVector("weight")).setSafe(row, number);
            ((IntVector) root.getVector("group")).setSafe(row, number % 20);
            byte[] name = ("row " + number).getBytes(StandardCharsets.UTF_8);
            ((VarCharVector) root.getVector("name")).setSafe(row, name);
          }
          root.setRowCount(100);
        });
  }

  @Test
  public void theSchemaOfAnEarlierCacheIsNotUsedForALaterOne() throws Exception {
    load(into("digits"), 1, 10);
    ignite.destroyCache("digits");
    QueryEntity entity = new QueryEntity("java.lang.Long", "Other");
    entity.addQueryField("pixels", "java.lang.Integer", null);
    ignite
        .createCache(
            new CacheConfiguration<Object, Object>("digits").setQueryEntities(List.of(entity)))
        .put(1L, ignite.binary().builder("Other").setField("pixels", 7).build());

    assertEquals(List.of(List.of(7)), cluster.readAll(command("digits").build()));
  }

  @Test
  @Category(Full.class)
  public void loadsThatFailWhileRowsAreWrittenLeaveTheNodesThreadsAlone() throws Exception {
    load(into("first"), 1, 10);
    Set<Thread> writing = threadsThatWrite();
    assertFalse(writing.isEmpty());

    for (int attempt = 0; attempt < 20; attempt++) {
      assertInvalid(
          ERROR_CODE_ROW_MISMATCH,
          "column name is null, but part of the key;",
          () -> putWithLastNameNull("broken", 2, 30_000));
    }

    assertEquals(writing, threadsThatWrite());
  }

  private static Set<Thread> threadsThatWrite() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("sys-stripe"))
        .collect(Collectors.toSet());
  }

  private interface Filler {
    void fill(VectorSchemaRoot root, int batch);
  }

  private static LoadCommand.Builder into(String cache) {
    return LoadCommand.newBuilder().setCache(cache);
  }

  private static FlightDescriptor descriptor(LoadCommand command) {
    return FlightDescriptor.command(command.toByteArray());
  }

  private static long load(LoadCommand.Builder command, int batches, int rows) throws Exception {
    return put(
        command, new Schema(fields()), batches, (root, batch) -> fill(root, batch * rows, rows));
  }

  /** Loads rows whose key is their name, which the last one lacks. */
  private static void putWithLastNameNull(String cache, int batches, int rows) throws Exception {
    put(
        into(cache).setKeyColumn("name"),
        new Schema(fields()),
        batches,
        (root, batch) -> {
          fill(root, batch * rows, rows);
          if (batch == batches - 1) {
            root.getVector("name").setNull(rows - 1);
          }
        });
  }

  /** Rows of zeros. */
  private static long load(LoadCommand.Builder command, Schema schema, int rows) throws Exception {
    return put(
        command,
        schema,
        1,
        (root, batch) -> {
          for (FieldVector vector : root.getFieldVectors()) {
            vector.setInitialCapacity(rows);
            vector.allocateNew();
            for (int row = 0; row < rows && vector instanceof BigIntVector; row++) {
              ((BigIntVector) vector).set(row, 0);
            }
          }
          root.setRowCount(rows);
        });
  }

  private static long put(LoadCommand.Builder command, Schema schema, int batches, Filler filler)
      throws Exception {
    try (VectorSchemaRoot root = VectorSchemaRoot.create(schema, cluster.allocator());
        SyncPutListener listener = new SyncPutListener()) {
      ClientStreamListener stream =
          cluster.client(1).startPut(descriptor(command.build()), root, listener);
      for (int batch = 0; batch < batches; batch++) {
        filler.fill(root, batch);
        stream.putNext();
      }
      stream.completed();
      try (PutResult result = listener.read()) {
        byte[] bytes = new byte[(int) result.getApplicationMetadata().readableBytes()];
        result.getApplicationMetadata().readBytes(bytes);
        stream.getResult();
        return LoadResult.parseFrom(bytes).getRows();
      } catch (ExecutionException refused) {
        throw (FlightRuntimeException) refused.getCause();
      }
    }
  }

  private static List<Field> fields() {
    Field pixel = new Field("item", FieldType.nullable(new ArrowType.Int(8, false)), null);
    return List.of(
        new Field(
            "pixels", FieldType.nullable(new ArrowType.FixedSizeList(PIXELS)), List.of(pixel)),
        Field.nullable("name", ArrowType.Utf8.INSTANCE),
        Field.nullable("weight", new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE)));
  }

  private static void fill(VectorSchemaRoot root, int first, int count) {
    FixedSizeListVector pixels = (FixedSizeListVector) root.getVector("pixels");
    VarCharVector names = (VarCharVector) root.getVector("name");
    Float4Vector weights = (Float4Vector) root.getVector("weight");
    for (int row = 0; row < count; row++) {
      pixels.setNotNull(row);
      for (int i = 0; i < PIXELS; i++) {
        ((UInt1Vector) pixels.getDataVector()).setSafe(row * PIXELS + i, first + row);
      }
      names.setSafe(row, ("row " + (first + row)).getBytes(StandardCharsets.UTF_8));
      weights.setSafe(row, (first + row) / 2f);
    }
    root.setRowCount(count);
  }

  private static HashSet<List<Object>> rows(int first, int count) {
    HashSet<List<Object>> rows = new HashSet<>();
    for (int row = first; row < first + count; row++) {
      List<Object> pixels = new ArrayList<>(Collections.nCopies(PIXELS, (byte) row));
      rows.add(List.of((long) row, pixels, "row " + row, row / 2f));
    }
    return rows;
  }

  private static String query(String cache, String text) {
    return ignite.cache(cache).query(new SqlFieldsQuery(text)).getAll().toString();
  }

  private static HashSet<List<Object>> read(String cache) throws Exception {
    List<List<Object>> rows =
        cluster.readAll(ReadCommand.newBuilder().setCache(cache).setKey(true).build());
    HashSet<List<Object>> distinct = new HashSet<>(rows);
    assertEquals("a row came twice", rows.size(), distinct.size());
    return distinct;
  }

  @SuppressWarnings("unchecked")
  private static CacheConfiguration<Object, Object> configuration(String cache) {
    return ignite.cache(cache).getConfiguration(CacheConfiguration.class);
  }
}
