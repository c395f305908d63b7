/** An Ignite node inside a Python process; Python calls only this package. */
package io.tensorflowignite.embedded;
