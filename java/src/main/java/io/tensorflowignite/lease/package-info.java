/** The leases of attempts: the proof that a majority of a job's members is connected. */
package io.tensorflowignite.lease;
