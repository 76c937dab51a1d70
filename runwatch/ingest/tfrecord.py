"""TFRecord framing: length, masked crc32c of it, data, masked crc32c of that; as TensorBoard's
event files have it. Formulas: https://www.tensorflow.org/tutorials/load_data/tfrecord.
"""

import struct
from collections.abc import Iterator

HEADER, FOOTER = 12, 4
LONGEST = 1 << 30  # bytes of a record; a longer one is a length misread
_MASK = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected
_LENGTH = struct.Struct("<QI")
_CRC = struct.Struct("<I")


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()


def masked_crc(data: bytes | bytearray) -> int:
    """crc32c, rotated by 15 bits and shifted, so that a crc of crcs is none of zeros."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def is_framed(head: bytes) -> bool:
    """Whether bytes begin with a record: its length has the right checksum."""
    if len(head) < HEADER:
        return False
    length, crc = _LENGTH.unpack_from(head)
    return bool(length < LONGEST and crc == masked_crc(head[:8]))


class Frames:
    """Records of bytes that come cut anywhere. `broken` says why no more can be read, once so."""

    def __init__(self) -> None:
        self.broken = ""
        self._held = bytearray()
        self._skip = 0  # bytes still to come of a record that is too long to hold
        self._at = 0

    @property
    def pending(self) -> int:
        """Bytes of a record that has begun and is not whole."""
        return len(self._held) + bool(self._skip)

    def feed(self, data: bytes, longest: int) -> Iterator[tuple[bytes, int]]:
        """The data of whole records with their checksums; those above `longest` are left out."""
        if self._skip:
            over = min(self._skip, len(data))
            self._skip -= over
            self._at += over
            data = data[over:]
        self._held += data
        begin = 0
        while not self.broken and len(self._held) - begin >= HEADER:
            length, crc = _LENGTH.unpack_from(self._held, begin)
            if length >= LONGEST or crc != masked_crc(self._held[begin : begin + 8]):
                self.broken = f"the length of the record at byte {self._at + begin} is damaged"
                break
            end = begin + HEADER + length + FOOTER
            if length > longest:
                self._skip = max(0, end - len(self._held))
                begin = min(end, len(self._held))
                continue
            if end > len(self._held):
                break
            record = bytes(self._held[begin + HEADER : end - FOOTER])
            begin = end
            yield record, _CRC.unpack_from(self._held, end - FOOTER)[0]
        if self.broken:
            begin = len(self._held)
        self._at += begin
        del self._held[:begin]
