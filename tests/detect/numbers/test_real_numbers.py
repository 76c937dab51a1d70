"""The numeric detectors on real logs and real loss curves, where they are at hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.false_alarms import EXCURSIONS, WARM, near, ours
from runwatch.chunk import Chunk, Stream
from runwatch.detect import Columns
from runwatch.finding import Finding, Severity
from runwatch.parse import Parser
from tests.detect.numbers.numeric_batches import DETECTORS, detector

SICK = {
    "gluoncv/icnet_resnet50_mhpv1_NAN.log": [("nan_loss", "medium", "recovered", 2289)],
    "gluoncv/deeplab_resnest269_ade_nan.log": [
        ("nan_loss", "medium", "progressed", 1384),
        ("nan_loss", "medium", "progressed", 4151),
    ],
    "dllogger_stdout/xfusion_rnnt_DIVERGED_result_2.txt": [
        ("diverged", "high", "open", 1234),
        ("eval_worse", "medium", "open", 1264),
    ],
    "deepspeed_finetune/gpt_train_with_kernel_NAN.log": [("nan_loss", "critical", "open", 360)],
}

HEALTHY = [
    "deepspeed_chat/step2_dpo_opt-350M_globalBatchSize-32.log",
    "deepspeed_chat/step3_rlhf_opt-1.3b_globalBatchSize64.log",
    "deepspeed_finetune/gpt_check_medium_training.log",
    "fairseq/fb_sweep_big_run.run2_json_overflow.log",
    "gluoncv/center_net_resnet101_v1b_coco_train.log",
    "gluoncv/faster_rcnn_fpn_resnet50_v1b_coco_train.log",
    "gluoncv/psp_resnet101_voc_tqdm.log",
    "gluoncv/resnest14_mpirun.log",
    "gluoncv/yolo3_darknet53_coco_train.log",
    "keras_verbose2/tacc_frontera_cosmoflow_result_4.txt",
    "llmc/adamw_f66d43d7.log",
    "llmc/llmc_2024-10-13_main.log",
    "megatron/meg_gpt2_base_n8_dp1_tp4_pp8-1809562.out",
    "megatron_deepspeed/meg_ds_3d_gpt2_perf_n16-ds-off.out",
    "mlperf_gnmt/nvidia_dgx1_n48_gnmt_result_1.txt",
    "mlperf_hpc/lbnl_corigpu_deepcam_result_1.txt",
    "mlperf_maskrcnn/qct_crlf_backspace_maskrcnn_result_4.txt",
    "mlperf_transformer_fairseq/nvidia_dgx1_n60_transformer_result_0.txt",
    "modded_nanogpt/last_logs_hyp_head_lr0_k1.txt",
    "modded_nanogpt/medium_train_gpt-20250329.txt",
    "modded_nanogpt/track3.log",
    "modded_nanogpt/wombat_05.12_33077_log.txt",
    "nanogpt/lozo_gpt2_training.log",
    "nanogpt/pretrain_ls_0.005.txt",
    "nanogpt/training.log",
    "torchvision_reference/xfusion_6xL4_ssd_result_1.txt",
]


def told(path: Path) -> list[Finding]:
    """What the numeric detectors say of a log above low, in the order of its lines."""
    parser, stream = Parser(), Stream(path.name)
    watching: list[Any] = [detector(name) for name in DETECTORS]
    batches = [parser.feed(Chunk(stream, path.read_bytes(), 0)), parser.finish(stream)]
    for each in watching:
        for batch in batches:
            each.feed(batch, Columns(batch))
    found = [item for each in watching for item in each.findings()]
    return sorted((f for f in found if f.severity is not Severity.LOW), key=lambda f: f.line)


@pytest.mark.parametrize("name", SICK)
def test_sick_runs_are_found_on_their_line(name: str, shared: Path) -> None:
    """Each sick run is told with kind, severity, state and line, and nothing else above low."""
    found = told(shared / "corpus/logs" / name)
    assert SICK[name] == [(f.kind, f.severity.value, f.state.value, f.line) for f in found]


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_runs_are_silent_above_low(name: str, shared: Path) -> None:
    """Nothing above low is said of a run that trained as it should."""
    assert told(shared / "corpus/logs" / name) == []


def test_calm_curves_are_silent(shared: Path) -> None:
    """More than half a million calm steps have no finding after warm-up."""
    for path in sorted((shared / "curves").glob("*m-*.parquet")):
        if path.name.startswith(("160m", "410m")):
            found = ours(_losses(path))
            assert [f.message for f in found if (f.step or 0) >= WARM] == []


@pytest.mark.parametrize("run", EXCURSIONS)
def test_every_excursion_is_found_and_recovered(run: str, shared: Path) -> None:
    """Each known excursion of the bumpy curves is told and called recovered."""
    found = ours(_losses(shared / f"curves/{run}.parquet"))
    assert {"loss_spike_recovered"} == {f.kind for f in found}
    steps = [f.step or 0 for f in found]
    assert all(near(steps, mark) for mark in EXCURSIONS[run])


def _losses(path: Path) -> Any:
    return pq.read_table(path).column("loss").to_numpy().astype(np.float64)
