package io.tensorflowignite.security;

import static io.tensorflowignite.v1.ErrorCode.ERROR_CODE_PERMISSION_DENIED;
import static org.apache.ignite.plugin.security.SecurityPermission.ADMIN_CLUSTER_STATE;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_CREATE;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_DESTROY;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_PUT;
import static org.apache.ignite.plugin.security.SecurityPermission.CACHE_READ;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_CANCEL;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_DEPLOY;
import static org.apache.ignite.plugin.security.SecurityPermission.SERVICE_INVOKE;

import io.tensorflowignite.base.MessageText;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.security.decide.AccessRules;
import io.tensorflowignite.security.decide.Permission;
import io.tensorflowignite.security.decide.Principal;
import io.tensorflowignite.security.decide.TaskScope;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.TaskKey;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.ignite.plugin.security.SecurityPermission;

/**
 * Checks the permissions of the current call's caller. Every method of a service calls it first.
 * The access rules decide; for a user of Ignite the security plugin must agree. For a task, its job
 * decides.
 */
public final class Guard {
  /** The name of the service in the permissions of Ignite's security plugin. */
  private static final String SERVICE = "tensorflow-ignite";

  private final AccessRules access;
  private final Predicate<String> systemCaches;
  private final String storage;

  private Guard(AccessRules access, Predicate<String> systemCaches, String storage) {
    this.access = access;
    this.systemCaches = systemCaches;
    this.storage = storage;
  }

  /**
   * @param systemCaches whether a cache is a system cache, which holds jobs or files of all users
   * @param storage the cache whose permissions in Ignite's security plugin apply to all files
   */
  public static Guard of(AccessRules access, Predicate<String> systemCaches, String storage) {
    return new Guard(access, systemCaches, storage);
  }

  /** A guard for services without {@code Authentication}: every caller may do everything. */
  public static Guard open() {
    return new Guard(null, null, null);
  }

  /** The owner of jobs that the caller submits; empty without authentication. */
  public String owner() {
    Principal principal = caller().principal;
    return principal.isNamed() ? principal.name : "";
  }

  /** Permission to upload code and to submit jobs. */
  public void submit() {
    require(Permission.SUBMIT, null, SERVICE_DEPLOY, SERVICE);
  }

  /** Whether the caller may read a job's row and output. */
  public boolean mayWatch(Job job) {
    Caller caller = caller();
    return caller.task().map(task -> task.hasJob(job.getId())).orElse(false)
        || owns(caller, job)
        || may(caller, Permission.WATCH, null, SERVICE_INVOKE, SERVICE);
  }

  public void watch(Job job) {
    requireOf(job, Permission.WATCH, mayWatch(job));
  }

  /** The jobs that the caller may watch. */
  public List<Job> watchable(Collection<Job> jobs) {
    return permitted(jobs, this::mayWatch);
  }

  public boolean mayStop(Job job) {
    Caller caller = caller();
    return owns(caller, job) || may(caller, Permission.STOP, null, SERVICE_CANCEL, SERVICE);
  }

  /** Permission to stop or remove a job. */
  public void stop(Job job) {
    requireOf(job, Permission.STOP, mayStop(job));
  }

  /** Permission to prove the end of a job's tasks; only the token of such a task gives it. */
  public void proveEnd(String jobId) {
    boolean may =
        caller().principal.kind == Principal.Kind.ANYONE
            || caller().task().map(task -> task.hasJob(jobId)).orElse(false);
    requireOf(Job.newBuilder().setId(jobId).build(), Permission.STOP, may);
  }

  /** Permission to take part in an agreement of an attempt's workers, as a given task. */
  public void agree(TaskKey task) {
    boolean may =
        caller().principal.kind == Principal.Kind.ANYONE
            || caller().task().map(scope -> scope.task.equals(task)).orElse(false);
    requireOf(Job.newBuilder().setId(task.getJobId()).build(), Permission.WATCH, may);
  }

  /** Permission to drain a node, which ends attempts of all jobs there. */
  public void drain() {
    require(Permission.STOP, null, SERVICE_CANCEL, SERVICE);
  }

  /** Permission to change the baseline, which moves the partitions of all caches. */
  public void changeBaseline() {
    require(Permission.ALL, null, ADMIN_CLUSTER_STATE, null);
  }

  /** Permission to list the nodes. */
  public void nodes() {
    require(Permission.WATCH, null, SERVICE_INVOKE, SERVICE);
  }

  public void readCache(String cache) {
    requireUsers(cache);
    require(Permission.READ, cache, CACHE_READ, cache);
  }

  /** The caches that the caller may read. */
  public List<String> readable(Collection<String> caches) {
    Caller caller = caller();
    return permitted(caches, cache -> may(caller, Permission.READ, cache, CACHE_READ, cache));
  }

  /**
   * Permission to write rows.
   *
   * @param made whether the call creates the cache
   * @param destroyed whether the call first destroys a cache of this name
   */
  public void writeCache(String cache, boolean made, boolean destroyed) {
    requireUsers(cache);
    require(Permission.WRITE, cache, CACHE_PUT, cache);
    if (made) {
      require(Permission.WRITE, cache, CACHE_CREATE, cache);
    }
    if (destroyed) {
      require(Permission.WRITE, cache, CACHE_DESTROY, cache);
    }
  }

  /** Permission to read a file or to list a directory. */
  public void readFile(String path) {
    require(Permission.FILES_READ, path, CACHE_READ, storage);
  }

  /**
   * Permission to learn that a directory exists; it lies on the path to files that the caller may
   * read.
   *
   * @return whether the caller may also read the file or directory
   */
  public boolean seeFile(String path) {
    Caller caller = caller();
    boolean leads =
        caller
            .task()
            .map(task -> task.leadsThrough(path))
            .orElseGet(() -> access != null && access.leadsThrough(caller.principal, path));
    if (may(caller, Permission.FILES_READ, path, CACHE_READ, storage)) {
      caller.markAuthorized();
      return true;
    }
    if (!leads) {
      throw denied(caller, Permission.FILES_READ, path);
    }
    caller.markAuthorized();
    return false;
  }

  /**
   * Permission to change the file or directory at a path.
   *
   * @param task the task for which the request makes the change; a task may name only itself
   */
  public void writeFile(String path, TaskKey task) {
    Caller caller = caller();
    boolean another =
        caller.task().isPresent()
            && !task.equals(TaskKey.getDefaultInstance())
            && !task.equals(caller.task().get().task);
    if (another) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_PERMISSION_DENIED,
          "The %s may not change '%s' in the name of the %s. A task changes files only in its"
              + " own name. Send the task's own key.",
          caller.principal,
          path,
          MessageText.name(task));
    }
    require(Permission.FILES, path, CACHE_PUT, storage);
  }

  /** Permission to change a directory and everything below it. */
  public void writeTree(String path, TaskKey task) {
    writeFile(path, task);
    requireBelow(Permission.FILES, path);
  }

  /** Permission to read a directory, and everything below it. */
  public void readTree(String path) {
    readFile(path);
    requireBelow(Permission.FILES_READ, path);
  }

  /**
   * Permission to read blocks of an extent. A call names only the extent, since it would cost too
   * much to search the tree for the extent's path for each block. So the id of the extent grants
   * access: it has 122 random bits of a secure generator, and only callers with permission for the
   * file get it. The caller must also have permission for some files.
   */
  public void readBlocks() {
    require(Permission.FILES_READ, null, CACHE_READ, storage);
  }

  /** Permission to write blocks; the messages of the call name the extent. */
  public void writeBlocks() {
    require(Permission.FILES, null, CACHE_PUT, storage);
  }

  /** Permission to list all blocks with the ids of their extents: the one to read all files. */
  public void checkBlocks() {
    readFile("/");
    requireBelow(Permission.FILES_READ, "/");
  }

  /** Permission to call a model. */
  public void predict(String model) {
    require(Permission.PREDICT, model, SERVICE_INVOKE, SERVICE);
  }

  /** Permission to deploy and undeploy versions of a model. */
  public void deploy(String model) {
    require(Permission.DEPLOY, model, SERVICE_DEPLOY, SERVICE);
  }

  /** The models that the caller may call. */
  public List<String> callable(Collection<String> models) {
    Caller caller = caller();
    return permitted(
        models, model -> may(caller, Permission.PREDICT, model, SERVICE_INVOKE, SERVICE));
  }

  private <T> List<T> permitted(Collection<T> all, Predicate<T> may) {
    List<T> permitted = all.stream().filter(may).collect(Collectors.toList());
    caller().markAuthorized();
    return permitted;
  }

  private void requireUsers(String cache) {
    Caller caller = caller();
    if (caller.principal.kind != Principal.Kind.ANYONE && systemCaches.test(cache)) {
      throw TensorFlowIgniteException.of(
          ERROR_CODE_PERMISSION_DENIED,
          "The cache '%s' is a system cache: it holds jobs or files of all users. No rule"
              + " allows access to it. Use the calls for jobs and files.",
          cache);
    }
  }

  private void requireOf(Job job, Permission permission, boolean may) {
    if (!may) {
      throw denied(caller(), permission, "job " + job.getId());
    }
    caller().markAuthorized();
  }

  private void require(
      Permission permission, String object, SecurityPermission ignitePermission, String name) {
    Caller caller = caller();
    if (!may(caller, permission, object, ignitePermission, name)) {
      throw denied(caller, permission, object);
    }
    caller.markAuthorized();
  }

  /** Requires a permission for all files below a directory, besides the one for the directory. */
  private void requireBelow(Permission permission, String directory) {
    Caller caller = caller();
    boolean may =
        caller.principal.kind == Principal.Kind.ANYONE
            // A task's scope consists of whole directories.
            || caller.task().isPresent()
            || access.allowsBelow(caller.principal, permission, directory);
    if (!may) {
      throw denied(
          caller, permission, directory.endsWith("/") ? directory + "*" : directory + "/*");
    }
  }

  private boolean may(
      Caller caller,
      Permission permission,
      String object,
      SecurityPermission ignitePermission,
      String name) {
    if (caller.principal.kind == Principal.Kind.ANYONE) {
      return true;
    }
    if (caller.task().isPresent()) {
      return mayTask(caller.task().get(), permission, object);
    }
    return access.allows(caller.principal, permission, object)
        && caller.user().map(user -> user.allows(ignitePermission, name)).orElse(true);
  }

  private static boolean mayTask(TaskScope task, Permission permission, String object) {
    switch (permission) {
      case READ:
        return task.reads(object);
      case WRITE:
        return task.writes(object);
      case FILES:
        return object == null || task.usesFile(object);
      case FILES_READ:
        return object == null || task.readsFile(object);
      default:
        return false;
    }
  }

  private static boolean owns(Caller caller, Job job) {
    Principal principal = caller.principal;
    return principal.isNamed() && principal.name.equals(job.getOwner());
  }

  private Caller caller() {
    Caller caller = Caller.KEY.get();
    if (caller == null && access == null) {
      return Caller.of(Principal.ANYONE);
    }
    if (caller == null) {
      throw new IllegalStateException("A call did not pass Authentication");
    }
    return caller;
  }

  private static String more(Permission permission) {
    switch (permission) {
      case READ:
        return ". Name more caches when you submit the job (access.caches)";
      case FILES:
      case FILES_READ:
        return ". Name more directories when you submit the job (access.directories)";
      default:
        return ". Submit another job for it";
    }
  }

  private static TensorFlowIgniteException denied(
      Caller caller, Permission permission, String object) {
    String of = object == null ? "" : ", " + object;
    boolean everywhere = object == null || permission.applies() == Permission.Applies.NOTHING;
    String pattern = everywhere ? "" : " " + object;
    String rule =
        caller
            .task()
            .map(
                task ->
                    "A task "
                        + task.describe(permission).orElse("watches only its own job")
                        + more(permission)
                        + ", or remove this access from the script.")
            .orElseGet(
                () ->
                    "Permissions come from rules (TensorFlowService.security.access), and from"
                        + " Ignite's security plugin if there is one. Ask the administrator of the"
                        + " cluster for a rule like '"
                        + caller.principal.name
                        + " "
                        + permission
                        + pattern
                        + "'.");
    return TensorFlowIgniteException.of(
        ERROR_CODE_PERMISSION_DENIED,
        "%s lacks the permission %s%s. %s",
        caller.task().isPresent() ? "The " + caller.principal : caller.principal,
        permission,
        of,
        rule);
  }
}
