/** Decisions about jobs. Pure: no Ignite, no gRPC, no clock, no thread; time is an argument. */
package io.tensorflowignite.job.decide;
