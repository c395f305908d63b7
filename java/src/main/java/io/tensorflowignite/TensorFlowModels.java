package io.tensorflowignite;

import java.util.Map;

/**
 * Online prediction: an interface of the service {@link TensorFlowService#NAME} on each node. A
 * proxy for it calls any node, from a server, a client node or a thin client:
 *
 * <pre>{@code
 * TensorFlowModels models =
 *     ignite.services().serviceProxy(TensorFlowService.NAME, TensorFlowModels.class, false);
 * Map<String, Object> outputs =
 *     models.predict("digits", Map.of("pixels", new float[][] {pixels}));
 * float[] first = (float[]) ((Object[]) outputs.get("probabilities"))[0];
 * }</pre>
 *
 * <p>A model is {@code NAME}, which is the current version of its deployment, or {@code
 * NAME:NUMBER} or {@code NAME@LABEL}, which is a deployed version.
 *
 * <p><b>Inputs</b> are columns: for each input of the default signature an array or a collection
 * with a value for each row. If a row has several numbers, its value is an array; or the column is
 * a flat array with all rows one after the other, if the signature has the shape of a row. Floats
 * take any {@link Number}, integers take {@link Long}, {@link Integer}, {@link Short} and {@link
 * Byte} in the range of their type, booleans {@link Boolean}, strings {@link String} (as UTF-8) and
 * {@code byte[]}. A {@code byte[]} for uint8 has numbers from 0 to 255.
 *
 * <p><b>Outputs</b> are columns too. An output with one number for each row is a {@code float[]},
 * {@code double[]}, {@code long[]} (also for uint32 and uint64), {@code int[]} (also for uint8 and
 * uint16), {@code short[]}, {@code byte[]}, {@code boolean[]}, or {@code String[]} with texts in
 * UTF-8. An output with several values for each row is an {@code Object[]} with one of these arrays
 * for each row, in row-major order.
 *
 * <p>Errors are {@code TensorFlowIgniteException}s; their texts end with {@code [code=NAME]}. A
 * request that fails with {@code MODEL_NOT_SERVED} may succeed when it is sent again.
 */
public interface TensorFlowModels {
  /** The time that calls without one have, in milliseconds. */
  long DEFAULT_TIMEOUT_MILLIS = 10_000;

  /** The outputs of one batch, within {@link #DEFAULT_TIMEOUT_MILLIS}. */
  Map<String, Object> predict(String model, Map<String, Object> inputs);

  /**
   * The outputs of one batch.
   *
   * @param inputs the columns by their names
   * @param timeoutMillis the longest time that the caller waits
   */
  Map<String, Object> predict(String model, Map<String, Object> inputs, long timeoutMillis);

  /** The outputs for rows of a cache, within {@link #DEFAULT_TIMEOUT_MILLIS}. */
  Map<String, Object> predictKeys(String model, String cache, Object[] keys);

  /**
   * The outputs for rows of a cache, in the order of the keys. Each row is read on the node that
   * owns it, or by the node that is called if the owner does not run the service. An input is the
   * field of its name, also in other letters as SQL makes them; of a cache whose values have no
   * fields, the value is the only input. Outputs with rows of different shapes on different nodes
   * fail with {@code MODEL_UNUSABLE}.
   *
   * @param keys one or more keys as {@code IgniteCache.put} takes them, none of them null: plain
   *     values, objects of classes that the node has, or {@code BinaryObject}s
   * @param timeoutMillis the longest time that the caller waits
   */
  Map<String, Object> predictKeys(String model, String cache, Object[] keys, long timeoutMillis);
}
