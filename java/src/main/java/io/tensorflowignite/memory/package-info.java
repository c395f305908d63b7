/** Memory that processes on this host share with the node, for rows and for blocks of files. */
package io.tensorflowignite.memory;
