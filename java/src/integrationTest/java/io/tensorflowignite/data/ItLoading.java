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
import io.tensorflowignite.v1.Mismatch;
import io.tensorflowignite.v1.Nulls;
import io.tensorflowignite.v1.ReadCommand;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import javax.cache.Cache;
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
  public void rowsAreReadBackAsTheyWereLoaded() throws Exception {
    assertEquals(300, load(into("digits").setBackups(1).setPartitions(32), 3, 100));

    Schema schema = cluster.schema(command("digits").setKey(true).build());
    assertEquals("_key", schema.getFields().get(0).getName());
    assertEquals(fields(), schema.getFields().subList(1, 4));
    assertEquals(rows(0, 300), read("digits"));
    CacheConfiguration<?, ?> configuration = configuration("digits");
    assertEquals(1, configuration.getBackups());
    assertEquals(32, configuration.getAffinity().partitions());
  }

  @Test
  public void aReplicatedCacheIsCreatedOnRequest() throws Exception {
    load(into("everywhere").setReplicated(true), 1, 10);

    assertEquals(CacheMode.REPLICATED, configuration("everywhere").getCacheMode());
    assertEquals(rows(0, 10), read("everywhere"));
  }

  @Test
  public void valuesAreObjectsNamedAfterTheCacheWithBytesAsArrays() throws Exception {
    load(into("my-images"), 1, 2);

    BinaryObject object = (BinaryObject) ignite.cache("my-images").withKeepBinary().get(1L);
    assertEquals("MyImages", object.type().typeName());
    assertEquals(
        Arrays.toString(new byte[] {1, 1, 1, 1}), Arrays.toString(object.<byte[]>field("pixels")));
  }

  @Test
  public void sqlSeesTheRows() throws Exception {
    load(into("digits"), 1, 20);

    List<List<?>> sum =
        ignite
            .cache("digits")
            .query(new SqlFieldsQuery("SELECT COUNT(*), SUM(WEIGHT) FROM Digits WHERE _KEY < 10"))
            .getAll();
    assertEquals(10L, sum.get(0).get(0));
    assertEquals(22.5, ((Number) sum.get(0).get(1)).doubleValue(), 1e-9);
  }

  @Test
  public void keysComeFromTheKeyColumn() throws Exception {
    load(into("named").setKeyColumn("name"), 1, 5);

    List<List<Object>> rows =
        cluster.readAll(command("named").setKey(true).addColumns("weight").build());
    assertTrue(rows.contains(List.of("row 3", 1.5f)));
    assertEquals(2, cluster.schema(command("named").build()).getFields().size());
  }

  @Test
  public void rowsWithTheSameAffinityValueShareAPartition() throws Exception {
    LoadCommand.Builder command =
        into("together").setKeyColumn("name").setAffinityColumn("group").setPartitions(64);
    for (boolean withoutSql : new boolean[] {false, true}) {
      command.setWithoutSql(withoutSql).setExisting(ExistingCache.EXISTING_CACHE_REPLACE);
      assertEquals(200, putGroups(command, 0));
      command.setExisting(ExistingCache.EXISTING_CACHE_APPEND);
      assertEquals(200, putGroups(command, 200));

      Map<Integer, Set<Integer>> partitions = new HashMap<>();
      for (Cache.Entry<Object, Object> row : ignite.cache("together").withKeepBinary()) {
        int group = ((BinaryObject) row.getKey()).<Integer>field("group");
        partitions
            .computeIfAbsent(group, none -> new HashSet<>())
            .add(ignite.affinity("together").partition(row.getKey()));
      }
      assertEquals(20, partitions.size());
      partitions.forEach((group, of) -> assertEquals("group " + group, 1, of.size()));
      Set<Integer> used = new HashSet<>();
      partitions.values().forEach(used::addAll);
      assertTrue("partitions of 20 groups: " + used, used.size() > 10);

      List<List<Object>> rows = cluster.readAll(command("together").build());
      assertEquals(400, rows.size());
      assertTrue(rows.contains(List.of("row 399", 19, 399f)));
    }
  }

  @Test
  public void sqlSeesBothFieldsOfAKeyThatIsAnObject() throws Exception {
    putGroups(into("together").setKeyColumn("name").setAffinityColumn("group"), 0);

    List<List<?>> rows =
        ignite
            .cache("together")
            .query(
                new SqlFieldsQuery(
                    "SELECT NAME, WEIGHT FROM Together WHERE \"GROUP\" = 7 ORDER BY WEIGHT"))
            .getAll();
    assertEquals(10, rows.size());
    assertEquals(List.of("row 7", 7f), rows.get(0));
  }

  @Test
  public void appendedRowsMustHaveTheSameAffinityColumn() throws Exception {
    putGroups(into("together").setKeyColumn("name").setAffinityColumn("group"), 0);

    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "rows with affinity column \"\" do not fit cache together, whose affinity column is"
            + " \"group\"",
        () ->
            putGroups(
                into("together")
                    .setKeyColumn("name")
                    .setExisting(ExistingCache.EXISTING_CACHE_APPEND),
                200));
  }

  @Test
  public void aCacheWithoutSqlIsReadAsAnyOther() throws Exception {
    load(into("plain").setWithoutSql(true), 2, 10);

    assertTrue(configuration("plain").getQueryEntities().isEmpty());
    assertEquals(rows(0, 20), read("plain"));
    load(into("plain").setExisting(ExistingCache.EXISTING_CACHE_APPEND).setFirstKey(20), 1, 10);
    assertEquals(30, read("plain").size());
  }

  @Test
  public void aSealedLoadThatEndsWithoutItsSealLeavesNoCache() {
    assertInvalid(
        ERROR_CODE_INVALID_REQUEST,
        "the rows for cache given_up ended after 20, and the sender did not report",
        () -> load(into("given_up").setSealed(true), 2, 10));
    assertFalse(ignite.cacheNames().contains("given_up"));
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
  public void countedKeysStartAtTheFirstKey() throws Exception {
    load(into("late").setFirstKey(1000), 2, 5);

    assertTrue(ignite.cache("late").containsKey(1009L));
    assertFalse(ignite.cache("late").containsKey(999L));
  }

  @Test
  public void anExistingCacheIsKeptReplacedOrAppendedToAsRequested() throws Exception {
    load(into("digits"), 1, 10);

    assertFails(
        FlightStatusCode.ALREADY_EXISTS,
        "if_exists=\"replace\" or if_exists=\"append\"",
        "[code=CACHE_EXISTS]",
        () -> load(into("digits"), 1, 5));
    assertEquals(rows(0, 10), read("digits"));

    load(into("digits").setExisting(ExistingCache.EXISTING_CACHE_APPEND).setFirstKey(10), 1, 10);
    assertEquals(20, read("digits").size());

    load(into("digits").setExisting(ExistingCache.EXISTING_CACHE_REPLACE), 1, 3);
    assertEquals(rows(0, 3), read("digits"));
  }

  @Test
  public void appendedRowsMustHaveTheSameColumns() throws Exception {
    load(into("digits"), 1, 10);
    Schema other = new Schema(List.of(Field.nullable("weight", new ArrowType.Int(64, true))));

    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "do not fit cache digits, which has keys Long and columns [pixels: FixedSizeList(4) of"
            + " Int(8, false), ",
        () -> load(into("digits").setExisting(ExistingCache.EXISTING_CACHE_APPEND), other, 1));
    assertEquals(rows(0, 10), read("digits"));
  }

  @Test
  public void aCacheIsReplacedByRowsWithOtherTypes() throws Exception {
    load(into("digits"), 1, 10);
    Schema other = new Schema(List.of(Field.nullable("pixels", new ArrowType.Int(64, true))));

    load(into("digits").setExisting(ExistingCache.EXISTING_CACHE_REPLACE), other, 2);

    assertEquals(2, cluster.readAll(command("digits").build()).size());
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
  public void nullsAreLoadedAndReadBack() throws Exception {
    put(
        into("holes"),
        new Schema(fields()),
        1,
        (root, batch) -> {
          fill(root, 0, 3);
          root.getVector("weight").setNull(1);
          root.getVector("name").setNull(1);
          root.getVector("pixels").setNull(2);
        });

    ReadCommand.Builder command =
        ReadCommand.newBuilder().setCache("holes").setKey(true).setNulls(Nulls.NULLS_KEEP);
    List<Object> first = List.of(0L, Collections.nCopies(PIXELS, (byte) 0), "row 0", 0f);
    List<Object> second = Arrays.asList(1L, Collections.nCopies(PIXELS, (byte) 1), null, null);
    List<Object> third = Arrays.asList(2L, null, "row 2", 1f);
    List<List<Object>> rows = cluster.readAll(command.build());
    assertEquals(3, rows.size());
    assertEquals(new HashSet<>(List.of(first, second, third)), new HashSet<>(rows));
    assertEquals(
        List.of(first),
        cluster.readAll(
            command.setNulls(Nulls.NULLS_ERROR).setOnMismatch(Mismatch.MISMATCH_SKIP).build(), 2));
  }

  @Test
  public void aNullKeyFailsTheLoadAndLeavesNoCache() {
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "row 1 for cache holes: column name is null, but part of the key;",
        () ->
            put(
                into("holes").setKeyColumn("name"),
                new Schema(fields()),
                1,
                (root, batch) -> {
                  fill(root, 0, 2);
                  root.getVector("name").setNull(1);
                }));
    assertFalse(ignite.cacheNames().contains("holes"));
    assertFalse(new SchemaStore(ignite).get("holes").isPresent());
  }

  @Test
  public void keysThatAreNotUniqueFailTheLoadAndLeaveNoCache() {
    assertInvalid(
        ERROR_CODE_ROW_MISMATCH,
        "20 rows were loaded into cache twice, but the cache holds 10;",
        () ->
            put(
                into("twice").setKeyColumn("name"),
                new Schema(fields()),
                2,
                (root, batch) -> fill(root, 0, 10)));
    assertFalse(ignite.cacheNames().contains("twice"));
  }

  @Test
  public void aTypeThatCannotBeStoredIsRefusedBeforeACacheIsCreated() {
    Schema counts = new Schema(List.of(Field.nullable("n", new ArrowType.Int(64, false))));

    assertInvalid(
        ERROR_CODE_UNSUPPORTED_TYPE,
        "cache counts cannot be loaded: column n is of type n: Int(64, false)",
        () -> load(into("counts"), counts, 1));
    assertFalse(ignite.cacheNames().contains("counts"));
  }

  @Test
  public void aLoadThatItsClientBreaksOffLeavesNoCache() throws Exception {
    try (VectorSchemaRoot root =
        VectorSchemaRoot.create(new Schema(fields()), cluster.allocator())) {
      SyncPutListener listener = new SyncPutListener();
      ClientStreamListener stream =
          cluster.client(0).startPut(descriptor(into("broken").build()), root, listener);
      fill(root, 0, 10);
      stream.putNext();
      Await.until("the cache is created", () -> ignite.cacheNames().contains("broken"));
      stream.error(new IllegalStateException("the client gives up"));
      Await.until("the cache is removed", () -> !ignite.cacheNames().contains("broken"));
    }
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
          () ->
              put(
                  into("broken").setKeyColumn("name"),
                  new Schema(fields()),
                  2,
                  (root, batch) -> {
                    fill(root, batch * 30_000, 30_000);
                    if (batch == 1) {
                      root.getVector("name").setNull(29_999);
                    }
                  }));
    }

    assertEquals(writing, threadsThatWrite());
  }

  private static Set<Thread> threadsThatWrite() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("data-streamer-stripe"))
        .collect(Collectors.toSet());
  }

  @Test
  public void reservedNamesCannotBeLoaded() {
    for (String cache : List.of("tensorflow-ignite-mine", "ignite-sys-cache")) {
      assertInvalid(
          ERROR_CODE_INVALID_REQUEST,
          "cache " + cache + " cannot be loaded;",
          () -> load(into(cache), 1, 1));
    }
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
