"""A training of ours on a GPU: holds memory, computes, tells its steps, then hangs on cue.

    python cuda_work.py STEPS

Talks to the driver alone, so that no framework has to be there. A step takes about a second, in
which the GPU computes without a pause; after the last one it stays, silent and idle.
"""

import ctypes
import sys
import time

PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry work(.param .u64 out, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .f32 %f<2>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, 0;
    mov.f32 %f1, 0f3F800000;
again:
    fma.rn.f32 %f1, %f1, %f1, %f1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra again;
    st.global.f32 [%rd1], %f1;
    ret;
}
\0"""
HELD = 6 << 30  # bytes


def main(steps: int) -> None:
    """Work for so many steps, then hang."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *values: object) -> None:
        code = getattr(cuda, name)(*values)
        if code:
            raise RuntimeError(f"{name} failed with code {code}")

    device, context, module, kernel = (ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3)))
    memory, count = ctypes.c_uint64(), ctypes.c_uint32(1 << 20)
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(HELD))
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"work")
    pointers = [ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in (memory, count)]
    given = (ctypes.c_void_p * 2)(*pointers)
    shape = (2048, 1, 1, 256, 1, 1, 0)
    for step in range(1, steps + 1):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            call("cuLaunchKernel", kernel, *shape, None, given, None)
            call("cuCtxSynchronize")
        print(f"step {step}/100000 | loss {2 - step / 1000:.4f} | lr 1e-4", flush=True)  # noqa: T201
    time.sleep(600)


if __name__ == "__main__":
    main(int(sys.argv[1]))
