"""Short logs written for the tests, and what should be said of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Story:
    """A log and its truth. `root` is (kind, line), None where there is nothing to blame."""

    name: str
    log: str
    root: tuple[str, int] | None
    state: str
    judgement: str
    rank: int | None = None


def steps(first: int, last: int, prefix: str = "") -> str:
    """Healthy training lines."""
    return "".join(
        f"{prefix}step {i}/1000 | loss: {3 - i / 1000:.4f} | lr: 1e-4\n" for i in range(first, last)
    )


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/train.py", line 88, in main
    loss = step(batch)
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl
    return forward_call(*args, **kwargs)
"""
TABLE = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-05-01_10:00:31
  host      : gpu-a
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 100)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 100
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-05-01_10:00:01
  host      : gpu-a
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 103)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 103
============================================================
"""
WATCHDOG = (
    "[rank{r}]:[E ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum={n}, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
)

STORIES = [
    Story("healthy", steps(1, 30), None, "UNKNOWN", "CONTINUE"),
    Story("finished", steps(990, 1001) + "Training completed.\n", None, "SUCCEEDED", "CONTINUE"),
    Story("last-step-and-no-word", steps(980, 1001), None, "SUCCEEDED", "CONTINUE"),
    Story(
        "oom",
        steps(1, 4)
        + TRACEBACK
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 "
        "GiB.\n",
        ("cuda_oom", 9),
        "FAILED",
        "STOP",
        0,
    ),
    Story(
        "oom-skipped-and-on",
        steps(1, 4) + "WARNING: ran out of memory with exception: CUDA out of memory. Tried "
        "to allocate 2 GiB\n"
        " Skipping batch\n" + steps(4, 12),
        None,
        "UNKNOWN",
        "CONTINUE",
    ),
    Story(
        "watchdogs-echo-an-oom",
        steps(1, 4) + "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to "
        "allocate 2.00 GiB.\n" + WATCHDOG.format(r=0, n=7) + WATCHDOG.format(r=1, n=7),
        ("cuda_oom", 4),
        "FAILED",
        "STOP",
        2,
    ),
    Story(
        "the-rank-behind-is-to-blame",
        steps(1, 4)
        + WATCHDOG.format(r=0, n=9)
        + WATCHDOG.format(r=1, n=9)
        + WATCHDOG.format(r=2, n=8),
        ("nccl_timeout", 4),
        "FAILED",
        "STOP",
        2,
    ),
    Story(
        "the-silent-rank-is-to-blame",
        "world_size: 4\n" + steps(1, 4) + "".join(WATCHDOG.format(r=r, n=9) for r in (0, 1, 3)),
        ("nccl_timeout", 5),
        "FAILED",
        "STOP",
        2,
    ),
    Story("killed-unconfirmed", steps(1, 4) + TABLE, ("sigkill_unknown", 22), "FAILED", "STOP", 3),
    Story(
        "killed-confirmed",
        steps(1, 4) + "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of "
        "the step tasks have been OOM Killed.\n" + TABLE,
        ("host_oom", 4),
        "FAILED",
        "STOP",
    ),
    Story(
        "success-words-after-a-failure",
        steps(1, 4) + TABLE + "SFT completed\n",
        ("false_success", 22),
        "FAILED",
        "STOP",
        3,
    ),
    Story(
        "teardown",
        steps(990, 1001)
        + "{'train_runtime': 120.5, 'train_loss': 1.2, 'epoch': 1.0}\n"
        + "[rank4]:[E ProcessGroupNCCL.cpp:1870] [PG 0 Rank 4] "
        "ProcessGroupNCCL's watchdog got stuck for 480 seconds\n",
        None,
        "SUCCEEDED",
        "GO",
    ),
    Story(
        "first-of-a-chain",
        steps(1, 4) + TRACEBACK + "TimeoutError: timed out\n"
        "\n"
        "The above exception was the direct cause of the following exception:\n"
        "\n" + TRACEBACK + "RuntimeError: upload did not work\n",
        ("python_exception", 9),
        "FAILED",
        "STOP",
        0,
    ),
    Story(
        "saving-breaks-off",
        steps(1, 4) + "Saving checkpoint to out/step_4\n"
        "ERROR: Exception during training:\n"
        "Traceback (most recent call last):\n",
        ("checkpoint_failure", 5),
        "FAILED",
        "STOP",
        0,
    ),
    Story(
        "many-ranks-one-traceback",
        "".join(
            f"[rank{r}]: {line}\n"
            for r in range(4)
            for line in [*TRACEBACK.splitlines(), "ValueError: bad shape 3"]
        ),
        ("python_exception", 6),
        "FAILED",
        "STOP",
        0,
    ),
    Story(
        "time-limit",
        steps(1, 4) + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-01-01T10:00:00 "
        "DUE TO TIME LIMIT ***\n"
        "Main process received SIGTERM, exiting\n",
        ("slurm_time_limit", 4),
        "TIMEOUT",
        "STOP",
    ),
    Story(
        "preempted",
        steps(1, 4) + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-01-01T10:00:00 "
        "DUE TO PREEMPTION ***\n",
        ("slurm_preemption", 4),
        "CANCELLED",
        "WAIT",
    ),
    Story(
        "cancelled",
        steps(1, 4) + "srun: Job step aborted: Waiting up to 32 seconds for job step to "
        "finish.\n"
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT "
        "2024-01-01T10:00:00 ***\n",
        ("slurm_cancelled", 5),
        "CANCELLED",
        "STOP",
    ),
    Story(
        "a-bare-cancel-after-a-failed-task-is-an-echo",
        steps(1, 4) + "srun: error: n1: task 3: Exited with exit code 1\n"
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT "
        "2024-01-01T10:00:00 ***\n",
        ("process_crash", 4),
        "FAILED",
        "STOP",
    ),
    Story(
        "interrupted",
        steps(1, 4) + TRACEBACK + "KeyboardInterrupt\n",
        ("interrupted", 9),
        "CANCELLED",
        "STOP",
    ),
    Story(
        "a-thread-is-not-the-run",
        steps(1, 4)
        + "Exception in thread Thread-3 (_upload):\n"
        + TRACEBACK
        + "ConnectionError: no route\n"
        + steps(4, 12),
        None,
        "UNKNOWN",
        "CONTINUE",
    ),
    Story(
        "restarted-worker-group",
        steps(1, 4) + TRACEBACK + "ValueError: bad sample\n"
        "[default] Worker group FAILED. 2/3 attempts left; will restart worker "
        "group\n" + steps(1, 12),
        None,
        "UNKNOWN",
        "CONTINUE",
    ),
    Story(
        "the-same-step-again-and-again",
        (steps(1, 4) + TRACEBACK + "ValueError: bad sample\n") * 3 + steps(1, 3),
        ("crash_loop", 9),
        "UNKNOWN",
        "STOP",
        0,
    ),
    Story(
        "program-text-has-said-nothing",
        steps(1, 4)
        + "[rank1]: Traceback (most recent call last):\n"
        + '[rank1]:   File "/home/me/data.py", line 3, in fetch\n'
        + '[rank1]:     fail("CUDA out of memory")\n'
        + '[rank1]:   File "/home/me/data.py", line 9, in fail\n'
        + "[rank1]:     raise RuntimeError(f'worker (pid {p}) exited unexpectedly')\n"
        + "[rank1]: RuntimeError: worker (pid 7) exited unexpectedly\n",
        ("worker_died_unknown", 9),
        "FAILED",
        "STOP",
        1,
    ),
    Story(
        "a-setting-that-names-a-failure-is-none",
        "log_policies: [{pattern: '.*CUDA out of memory.*', action: cancel_retries}]\n"
        + steps(1, 2),
        None,
        "UNKNOWN",
        "CONTINUE",
    ),
    Story(
        "a-failed-last-save-costs-the-result",
        steps(990, 1001)
        + "Training completed.\n"
        + TRACEBACK
        + "OSError: [Errno 28] No space left on device\n",
        ("disk_full", 18),
        "FAILED",
        "STOP",
    ),
    Story(
        "noise",
        "NCCL INFO comm 0x1 rank 0 nranks 8 - Abort COMPLETE\n"
        "wandb: Network error (ReadTimeout), entering retry loop.\n"
        "/x.py:3: RuntimeWarning: mean of empty slice\n"
        + steps(1, 12)
        + "number of nan iterations: 0\nmean_squared_error: 0.12\n",
        None,
        "UNKNOWN",
        "CONTINUE",
    ),
]
