package io.tensorflowignite;

/**
 * The JUnit category of tests that `make test` leaves out and `make test-all` runs: another form of
 * a promise that a test without it shows, or what takes long.
 */
public interface Full {}
