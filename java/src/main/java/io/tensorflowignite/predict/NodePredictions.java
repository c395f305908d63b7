package io.tensorflowignite.predict;

/** The calls of other nodes about the models that a node serves. */
public interface NodePredictions {
  /**
   * The outputs of one batch, by a process of this node.
   *
   * @param request a PredictRequest as bytes
   * @param timeoutMillis the time until its deadline
   * @return a PredictOutcome as bytes
   */
  byte[] predictHere(byte[] request, long timeoutMillis);

  /**
   * The outputs for rows of this node.
   *
   * @param signature empty: the default one
   * @param keys keys of rows whose primary copies are here; objects in the binary form
   * @return a PredictOutcome as bytes
   */
  byte[] predictRowsHere(
      String model, String signature, String cache, Object[] keys, long timeoutMillis);
}
