package io.tensorflowignite.predict;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_CACHE_NOT_FOUND;
import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_COLUMN_NOT_FOUND;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.predict.decide.Tensors;
import io.tensorflowignite.security.Guard;
import io.tensorflowignite.security.ServiceCallers;
import io.tensorflowignite.v1.ModelSignature;
import io.tensorflowignite.v1.PredictRequest;
import io.tensorflowignite.v1.PredictResponse;
import io.tensorflowignite.v1.Tensor;
import io.tensorflowignite.v1.TensorSpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.binary.BinaryObject;
import org.apache.ignite.binary.BinaryObjectException;
import org.apache.ignite.cluster.ClusterNode;

/** Predictions for callers of the Ignite service, in plain values, and for rows of caches. */
public final class PlainPredictions {
  /** A prediction may end this long before its deadline: its parts round to milliseconds. */
  public static final long EARLY_MS = 5;

  private final Ignite ignite;
  private final Predictor predictor;
  private final Guard guard;
  private final ServiceCallers callers;
  private final UnaryOperator<String> labels;

  /**
   * @param labels makes NAME:NUMBER of NAME@LABEL, and leaves other texts as they are
   */
  public PlainPredictions(
      Ignite ignite,
      Predictor predictor,
      Guard guard,
      ServiceCallers callers,
      UnaryOperator<String> labels) {
    this.ignite = ignite;
    this.predictor = predictor;
    this.guard = guard;
    this.callers = callers;
    this.labels = labels;
  }

  /** The outputs of one batch. */
  public Map<String, Object> predict(String name, Map<String, Object> inputs, long timeoutMillis) {
    callers.authorize(() -> guard.predict(Predictor.name(name)));
    if (inputs == null) {
      throw invalidRequest(
          "The request for the model %.200s has null in place of its inputs. Inputs are a map with"
              + " a column for each input of the signature. Give a map.",
          name);
    }
    String model = predictor.pinned(labels.apply(name));
    long deadline = Predictor.deadline(requirePositive(timeoutMillis));
    ModelSignature signature = Tensors.signature(predictor.serving(model), "");
    PredictRequest.Builder request = PredictRequest.newBuilder().setModel(model);
    Map<String, Object> given = new HashMap<>(inputs);
    for (TensorSpec spec : signature.getInputsList()) {
      if (given.containsKey(spec.getName())) {
        request.addInputs(PlainTensors.of(spec, given.remove(spec.getName())));
      }
    }
    if (!given.isEmpty()) {
      throw invalidRequest(
          "The model %s has no inputs %s. It takes exactly its signature's inputs. Remove them.",
          model, given.keySet());
    }
    return plain(Predictor.await(predictor.predict(request.build(), deadline), deadline));
  }

  /**
   * One output for one row of a SQL query.
   *
   * @param output its name; empty: the model has no other one
   * @param values the value of the only input, or the name and the value of each input in turn
   */
  public Tensor predictRow(String name, String output, List<Object> values, long timeoutMillis) {
    callers.authorizeQuery(() -> guard.predict(Predictor.name(name)));
    String model = predictor.pinned(labels.apply(name));
    long deadline = Predictor.deadline(requirePositive(timeoutMillis));
    ModelSignature signature = Tensors.signature(predictor.serving(model), "");
    String named = RowArguments.output(model, signature, output);
    PredictRequest request = RowArguments.inputs(model, signature, values).setModel(model).build();
    PredictResponse response = Predictor.await(predictor.predict(request, deadline), deadline);
    return response.getOutputsList().stream()
        .filter(tensor -> tensor.getName().equals(named))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("the response has no output " + named));
  }

  /** The outputs for rows of a cache, in the order of the keys. */
  public Map<String, Object> predictKeys(
      String name, String cache, Object[] keys, long timeoutMillis) {
    if (cache == null || cache.isEmpty()) {
      throw noCache(cache);
    }
    callers.authorize(
        () -> {
          guard.predict(Predictor.name(name));
          guard.readCache(cache);
        });
    String model = predictor.pinned(labels.apply(name));
    long deadline = Predictor.deadline(requirePositive(timeoutMillis));
    requireRows(cache, keys);
    Object[] stored = stored(keys);
    Set<UUID> serviceNodes = predictor.calls().serviceNodes();
    Map<ClusterNode, List<Integer>> byReader = new LinkedHashMap<>();
    for (int i = 0; i < stored.length; i++) {
      ClusterNode owner = ignite.affinity(cache).mapKeyToNode(stored[i]);
      // Rows of a node without the service are read from here.
      boolean answers = owner != null && serviceNodes.contains(owner.id());
      ClusterNode reader = answers ? owner : ignite.cluster().localNode();
      byReader.computeIfAbsent(reader, added -> new ArrayList<>()).add(i);
    }
    List<CompletableFuture<PredictResponse>> pending = new ArrayList<>();
    int[] order = new int[keys.length];
    int position = 0;
    for (Map.Entry<ClusterNode, List<Integer>> group : byReader.entrySet()) {
      Object[] some = group.getValue().stream().map(i -> stored[i]).toArray();
      for (int i : group.getValue()) {
        order[i] = position++;
      }
      pending.add(
          group.getKey().isLocal()
              ? predictRows(model, "", cache, some, deadline)
              : predictor
                  .calls()
                  .submit(
                      Predictor.name(model),
                      deadline,
                      () ->
                          predictor
                              .calls()
                              .first(
                                  List.of(group.getKey()),
                                  deadline,
                                  (node, left) ->
                                      node.predictRowsHere(model, "", cache, some, left))));
    }
    List<PredictResponse> parts = new ArrayList<>();
    for (CompletableFuture<PredictResponse> part : pending) {
      parts.add(Predictor.await(part, deadline));
    }
    return plain(Tensors.reorder(Tensors.join(parts), order));
  }

  /** Answers another node, see {@link NodePredictions#predictHere}. */
  public byte[] predictHere(byte[] request, long timeoutMillis) {
    callers.requireNode();
    return predictor.predictHere(request, timeoutMillis);
  }

  /** Answers another node, see {@link NodePredictions#predictRowsHere}. */
  public byte[] predictRowsHere(
      String model, String signature, String cache, Object[] keys, long timeoutMillis) {
    callers.requireNode();
    return predictor
        .calls()
        .answer(
            Predictor.name(model),
            deadline ->
                Predictor.await(predictRows(model, signature, cache, keys, deadline), deadline),
            timeoutMillis);
  }

  /**
   * Reads rows, most often on their owner, and predicts there, or on the nearest node with the
   * model.
   *
   * @param keys in the binary form
   */
  private CompletableFuture<PredictResponse> predictRows(
      String model, String signature, String cache, Object[] keys, long deadline) {
    ModelSignature takes = Tensors.signature(predictor.serving(model), signature);
    IgniteCache<Object, Object> rows = ignite.cache(cache).withKeepBinary();
    Map<Object, Object> found = rows.getAll(new HashSet<>(Arrays.asList(keys)));
    Map<Object, Object> byKey = new HashMap<>(found);
    PredictRequest.Builder request =
        PredictRequest.newBuilder().setModel(model).setSignature(signature);
    for (TensorSpec spec : takes.getInputsList()) {
      Object[] column = new Object[keys.length];
      for (int i = 0; i < keys.length; i++) {
        Object row = byKey.get(keys[i]);
        if (row == null) {
          throw invalidRequest(
              "The cache '%s' has no row with the key %.200s. A prediction is made for each key."
                  + " Leave this key out.",
              cache, keys[i]);
        }
        column[i] = value(spec, row, takes.getInputsCount(), cache);
      }
      request.addInputs(PlainTensors.ofRows(spec, column));
    }
    return predictor.predict(request.build(), deadline);
  }

  /** The field of a row with the name of an input; a row without fields is the only input. */
  private static Object value(TensorSpec spec, Object row, int inputs, String cache) {
    if (!(row instanceof BinaryObject)) {
      if (inputs == 1) {
        return row;
      }
      throw noColumn(spec, cache, "its values have no fields");
    }
    BinaryObject fields = (BinaryObject) row;
    try {
      if (fields.hasField(spec.getName())) {
        return fields.field(spec.getName());
      }
      // SQL makes names of capital letters.
      List<String> same = new ArrayList<>();
      for (String field : fields.type().fieldNames()) {
        if (field.equalsIgnoreCase(spec.getName())) {
          same.add(field);
        }
      }
      if (same.size() == 1) {
        return fields.field(same.get(0));
      }
      throw noColumn(spec, cache, "its columns are " + fields.type().fieldNames());
    } catch (BinaryObjectException e) {
      throw noColumn(spec, cache, "a value cannot be read: " + MessageText.reason(e));
    }
  }

  private static TensorFlowIgniteException noColumn(TensorSpec spec, String cache, String reason) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_COLUMN_NOT_FOUND,
        "The cache '%s' has no column for the input %s: %s. Each input of a model is the column of"
            + " its name. Name the inputs of the model as the columns, or call predict with"
            + " values.",
        cache,
        Tensors.text(spec),
        reason);
  }

  /** The keys as rows have them when they are read in the binary form. */
  private Object[] stored(Object[] keys) {
    return Arrays.stream(keys).map(key -> ignite.binary().<Object>toBinary(key)).toArray();
  }

  private void requireRows(String cache, Object[] keys) {
    if (keys == null || keys.length == 0) {
      throw invalidRequest(
          "The request has no keys. A prediction is made for each key. Give one or more.");
    }
    int empty = Arrays.asList(keys).indexOf(null);
    if (empty >= 0) {
      throw invalidRequest(
          "The key at the index %d of %d keys for the cache '%s' is null. No row has this key."
              + " Leave it out.",
          empty, keys.length, cache);
    }
    if (ignite.cache(cache) == null) {
      throw noCache(cache);
    }
  }

  private static TensorFlowIgniteException noCache(String cache) {
    return TensorFlowIgniteException.of(
        ERROR_CODE_CACHE_NOT_FOUND,
        "There is no cache '%s'. A name is the name of an Ignite cache. List them:"
            + " tensorflow-ignite caches",
        cache);
  }

  private static long requirePositive(long timeoutMillis) {
    if (timeoutMillis <= 0) {
      throw invalidRequest(
          "The timeout is %d ms. It is a number above 0. Give a larger number.", timeoutMillis);
    }
    return timeoutMillis;
  }

  private static Map<String, Object> plain(PredictResponse response) {
    Map<String, Object> outputs = new HashMap<>();
    for (Tensor tensor : response.getOutputsList()) {
      outputs.put(tensor.getName(), PlainTensors.plain(tensor));
    }
    return outputs;
  }
}
