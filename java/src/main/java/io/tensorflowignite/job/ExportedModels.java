package io.tensorflowignite.job;

import static io.tensorflowignite.v1.JobState.JOB_STATE_SUCCEEDED;

import io.tensorflowignite.base.ModelPaths;
import io.tensorflowignite.job.decide.JobMachine;
import io.tensorflowignite.job.decide.JobPaths;
import io.tensorflowignite.storage.StorageInput;
import io.tensorflowignite.v1.FileInfo;
import io.tensorflowignite.v1.Job;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Stream;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteLogger;

/**
 * The models that tasks of jobs have exported: they become versions when their job has succeeded,
 * and are removed when it has not. A task writes the model into a hidden directory beside the
 * versions, with its own permissions, and a file with the name of the model among the files of its
 * job. A repeated call completes an interrupted one. `tensorflow_ignite.models.registry` makes all
 * other versions, and has the same paths.
 */
public final class ExportedModels implements AutoCloseable {
  private static final String KEY = ExportedModels.class.getName();
  private static final int ATTEMPT_BYTES = 16;

  private final Ignite ignite;
  private final JobFileStore files;
  private final IgniteLogger log;

  private ExportedModels(Ignite ignite, JobFileStore files) {
    this.ignite = ignite;
    this.files = files;
    this.log = ignite.log().getLogger(ExportedModels.class);
  }

  /** The services of jobs on this node use them until {@link #close}. */
  public static ExportedModels open(Ignite ignite, JobFileStore files) {
    ExportedModels exported = new ExportedModels(ignite, files);
    ignite.cluster().<String, ExportedModels>nodeLocalMap().put(KEY, exported);
    return exported;
  }

  static ExportedModels of(Ignite ignite) {
    ExportedModels exported = ignite.cluster().<String, ExportedModels>nodeLocalMap().get(KEY);
    if (exported == null) {
      throw new IllegalStateException("this node does not serve files yet, or stops");
    }
    return exported;
  }

  /**
   * Makes versions of the models of a job that has succeeded; removes the models of other jobs.
   *
   * @param job the job in its final state, before this state is stored
   */
  void settle(Job job) {
    for (FileInfo marker : files.list(JobPaths.exports(job.getId()))) {
      String model = marker.getPath();
      String exported = ModelPaths.exported(model, job.getId());
      if (job.getState() != JOB_STATE_SUCCEEDED || !isOfLastAttempt(job, model)) {
        files.remove(exported);
      } else if (files.exists(exported)) {
        log.info(
            String.format(
                "A job has made a version of a model [job=%s, model=%s, version=%d]",
                job.getId(), model, makeVersion(model, exported)));
      }
    }
  }

  /**
   * Whether the last attempt has exported the model; a file of the job has the attempt's number.
   */
  private boolean isOfLastAttempt(Job job, String model) {
    try (StorageInput marker = files.read(JobPaths.exports(job.getId()) + "/" + model)) {
      String attempt = new String(marker.readNBytes(ATTEMPT_BYTES), StandardCharsets.UTF_8);
      return attempt.equals(Integer.toString(JobMachine.attemptNumber(job)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private long makeVersion(String model, String exported) {
    while (true) {
      // A number is not used again after its version was removed: any file with this name takes it.
      long number =
          Stream.concat(
                      files.list(ModelPaths.model(model)).stream(),
                      files.list(ModelPaths.removedVersions(model)).stream())
                  .map(FileInfo::getPath)
                  .filter(name -> name.matches("[1-9][0-9]{0,17}"))
                  .mapToLong(Long::parseLong)
                  .max()
                  .orElse(0)
              + 1;
      if (files.renameToNew(exported, ModelPaths.version(model, number))) {
        return number;
      }
    }
  }

  @Override
  public void close() {
    ignite.cluster().<String, ExportedModels>nodeLocalMap().remove(KEY, this);
  }
}
