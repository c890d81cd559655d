"""A TIFF on standard input to a PNG on standard output: a program of its own, so that no picture can harm the server.

Exit code 3: more pixels than the first argument allows, told on standard error. The second argument is the longest side
of the PNG.
"""

import io
import sys

from PIL import Image

TOO_LARGE = 3
MEMORY = 2 * 2**30  # bytes
SECONDS = 30


def main(most_pixels: int, longest_side: int) -> int:
    _limit_resources()
    Image.MAX_IMAGE_PIXELS = None  # our own limit is below its
    with Image.open(io.BytesIO(sys.stdin.buffer.read())) as image:  # reads the head only
        pixels = image.width * image.height
        if pixels > most_pixels:
            sys.stderr.write(f"{image.width} x {image.height}")
            return TOO_LARGE
        image.load()
        shown = image if image.mode in ("L", "RGB", "RGBA") else image.convert("L" if image.mode == "1" else "RGB")
        shown.thumbnail((longest_side, longest_side))
        out = io.BytesIO()
        shown.convert("RGB").save(out, "PNG", compress_level=3)
    sys.stdout.buffer.write(out.getvalue())
    return 0


def _limit_resources() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
