/** JSON of TensorFlow Serving's REST API: requests into messages, and answers into JSON. */
package io.tensorflowignite.serving.json;
