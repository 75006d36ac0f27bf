package io.trunkline;

import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.spark.internal.io.FileCommitProtocol;
import org.apache.spark.internal.io.FileCommitProtocol.TaskCommitMessage;
import org.apache.spark.internal.io.FileNameSpec;
import scala.Option;
import scala.collection.immutable.Seq;

/**
 * Tasks write to the final place at once, under names that nobody else gives. What counts is what
 * comes back to the driver: files of failed attempts are never listed, and gc takes them.
 */
public class LakeCommit extends FileCommitProtocol implements java.io.Serializable {
    private final String stem;
    private transient Map written;
    final transient Map partitions = new HashMap();

    /** `stem` is the beginning of every object's URI. */
    public LakeCommit(String stem) {
        this.stem = stem;
    }

    public void setupJob(JobContext job) {}

    public void setupTask(TaskAttemptContext task) {
        written = new HashMap();
    }

    public String newTaskTempFile(TaskAttemptContext task, Option folder, FileNameSpec name) {
        String path = stem + UUID.randomUUID().toString().replace("-", "") + name.suffix();
        try {
            FileSystem files = new Path(path).getFileSystem(task.getConfiguration());
            files.setWriteChecksum(false);
        } catch (java.io.IOException unreachable) {
            throw new java.io.UncheckedIOException(unreachable);
        }
        written.put(path, folder.isDefined() ? (String) folder.get() : "");
        return path;
    }

    public String newTaskTempFileAbsPath(TaskAttemptContext task, String folder, FileNameSpec name) {
        throw new UnsupportedOperationException();
    }

    public TaskCommitMessage commitTask(TaskAttemptContext task) {
        return new TaskCommitMessage(written);
    }

    /** Gives the space back at once. What cannot be deleted now, gc will. */
    public void abortTask(TaskAttemptContext task) {
        for (Object one : written.keySet()) {
            Path path = new Path((String) one);
            try {
                path.getFileSystem(task.getConfiguration()).delete(path, false);
            } catch (java.io.IOException unreachable) {
                continue;
            }
        }
    }

    public void commitJob(JobContext job, Seq messages) {
        for (int i = 0; i < messages.length(); i++) {
            partitions.putAll((Map) ((TaskCommitMessage) messages.apply(i)).obj());
        }
    }

    public void abortJob(JobContext job) {}
}
