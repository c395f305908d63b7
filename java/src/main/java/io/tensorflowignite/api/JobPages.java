package io.tensorflowignite.api;

import static io.tensorflowignite.base.TensorFlowIgniteException.invalidRequest;

import com.google.protobuf.Timestamp;
import com.google.protobuf.util.Timestamps;
import io.tensorflowignite.base.TensorFlowIgniteException;
import io.tensorflowignite.v1.Job;
import io.tensorflowignite.v1.JobState;
import io.tensorflowignite.v1.ListJobsRequest;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Lists of jobs in pages, newest first. The token of the next page names the last job of the page,
 * so that jobs that come or go meanwhile move no other job to another page.
 */
final class JobPages {
  private static final int MAX_SIZE = 1000;
  private static final int DEFAULT_SIZE = 100;
  private static final Pattern TOKEN = Pattern.compile("(\\d{1,12})\\.(\\d{1,9})/(.*)");

  private static final Comparator<Job> NEWEST_FIRST =
      Comparator.comparing(Job::getCreatedAt, Timestamps.comparator())
          .thenComparing(Job::getId)
          .reversed();

  private final int size;
  private final List<Job> matches;

  private JobPages(int size, List<Job> matches) {
    this.size = size;
    this.matches = matches;
  }

  /**
   * Finds the jobs of a request.
   *
   * @param jobs the jobs that the caller may see; the first of two with the same id counts
   * @throws TensorFlowIgniteException INVALID_REQUEST
   */
  static JobPages of(ListJobsRequest request, Collection<Job> jobs) {
    int size = request.getPageSize() == 0 ? DEFAULT_SIZE : request.getPageSize();
    if (size < 1 || size > MAX_SIZE) {
      throw invalidRequest(
          "page_size %d is no size of a page. A page has 1 to %d jobs, by default %d. Set page_size"
              + " to a number in this range.",
          size, MAX_SIZE, DEFAULT_SIZE);
    }
    if (request.hasSince() && !Timestamps.isValid(request.getSince())) {
      throw invalidRequest(
          "since is no time: its seconds are %d and its nanos %d. Set since to a time from year 1"
              + " to 9999.",
          request.getSince().getSeconds(), request.getSince().getNanos());
    }
    Map<String, Job> distinct = new LinkedHashMap<>();
    jobs.forEach(job -> distinct.putIfAbsent(job.getId(), job));
    Job last = request.getPageToken().isEmpty() ? null : named(request.getPageToken());
    List<Job> matches =
        distinct.values().stream()
            .filter(
                job ->
                    request.getStatesValueList().isEmpty()
                        || request.getStatesValueList().contains(state(job)))
            .filter(
                job ->
                    !request.hasSince()
                        || Timestamps.compare(job.getCreatedAt(), request.getSince()) >= 0)
            .filter(job -> last == null || NEWEST_FIRST.compare(job, last) > 0)
            .sorted(NEWEST_FIRST)
            .limit(size + 1L)
            .collect(Collectors.toList());
    return new JobPages(size, matches);
  }

  /** The jobs of the page. */
  List<Job> jobs() {
    return matches.subList(0, Math.min(size, matches.size()));
  }

  /** The token of the next page; empty: this is the last one. */
  String next() {
    if (matches.size() <= size) {
      return "";
    }
    Job last = matches.get(size - 1);
    Timestamp at = last.getCreatedAt();
    return at.getSeconds() + "." + at.getNanos() + "/" + last.getId();
  }

  private static int state(Job job) {
    // Nobody can name a state of a later version.
    return job.getState() == JobState.UNRECOGNIZED
        ? JobState.JOB_STATE_UNSPECIFIED_VALUE
        : job.getStateValue();
  }

  private static Job named(String token) {
    Matcher parts = TOKEN.matcher(token);
    Timestamp.Builder createdAt = Timestamp.newBuilder();
    if (parts.matches()) {
      createdAt
          .setSeconds(Long.parseLong(parts.group(1)))
          .setNanos(Integer.parseInt(parts.group(2)));
    }
    if (!parts.matches() || !Timestamps.isValid(createdAt.build())) {
      throw invalidRequest(
          "page_token '%s' is not from an answer. The token of a page is the next_page_token of the"
              + " answer before. Leave it empty for the first page.",
          token.length() > 40 ? token.substring(0, 40) + "…" : token);
    }
    return Job.newBuilder().setId(parts.group(3)).setCreatedAt(createdAt).build();
  }
}
