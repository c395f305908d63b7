/** What has changed in a cache since a reader has read it: the keys, noticed on their owners. */
package io.tensorflowignite.data.change;
