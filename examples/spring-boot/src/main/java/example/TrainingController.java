package example;

import io.tensorflowignite.TensorFlowJobs;
import io.tensorflowignite.TensorFlowModels;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.ignite.client.ClientConnectionException;
import org.apache.ignite.client.ClientException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.io.Resource;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * Trainings and predictions over HTTP. The script is the application's own: callers send no code.
 */
@RestController
class TrainingController {
  private final TensorFlowJobs jobs;
  private final TensorFlowModels models;
  private final String script;

  TrainingController(
      TensorFlowJobs jobs, TensorFlowModels models, @Value("classpath:train.py") Resource script)
      throws IOException {
    this.jobs = jobs;
    this.models = models;
    this.script = script.getContentAsString(StandardCharsets.UTF_8);
  }

  /** Starts a training; the same request makes one job, also if it is repeated. */
  @PostMapping("/trainings")
  Map<String, String> train(
      @RequestParam String cache, @RequestParam int epochs, @RequestParam String request) {
    Map<String, Object> options =
        Map.of("cache", cache, "strategy", "one", "args", List.of("--epochs", "" + epochs));
    return Map.of("id", jobs.submit(Map.of("train.py", script), options, request));
  }

  @GetMapping("/trainings/{id}")
  Map<String, Object> describe(@PathVariable String id) {
    return jobs.describe(id);
  }

  @GetMapping("/trainings/{id}/output")
  Map<String, Object> output(
      @PathVariable String id, @RequestParam(defaultValue = "") String position) {
    return jobs.output(id, "worker:0", position);
  }

  @DeleteMapping("/trainings/{id}")
  Map<String, String> stop(@PathVariable String id) {
    return Map.of("state", jobs.stop(id));
  }

  /** Rows of numbers for each input: {"pixels": [[0, 1], [2, 3]]}. */
  @PostMapping("/predictions/{model}")
  Map<String, Object> predict(
      @PathVariable String model, @RequestBody Map<String, float[][]> inputs) {
    return models.predict(model, Map.copyOf(inputs));
  }

  @ExceptionHandler(ClientException.class)
  @ResponseStatus(HttpStatus.BAD_REQUEST)
  Map<String, String> error(ClientException error) {
    return Map.of("error", String.valueOf(error.getMessage()));
  }

  /** No node answers; the same request may be repeated. */
  @ExceptionHandler(ClientConnectionException.class)
  @ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
  Map<String, String> unavailable(ClientConnectionException error) {
    return error(error);
  }
}
