/** The gRPC server for any services: its limits, its flow control, and the statuses of errors. */
package io.tensorflowignite.rpc;
