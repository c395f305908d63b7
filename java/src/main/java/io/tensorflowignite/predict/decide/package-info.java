/**
 * Decisions about online prediction, without clocks and threads: which requests are one batch,
 * which nodes serve a model, and which version its name means.
 */
package io.tensorflowignite.predict.decide;
