"""Pictures: every kind that people have opens, and what is damaged is named."""

import io
import sys
import warnings

import numpy as np
import pytest
from PIL import Image

from crlm.errors import CRLMError, InputError
from crlm.images import as_image, is_image, list_images, open_image, padded, pixels, thumbnail

WARM = (200, 40, 10)


def picture(width=40, height=24):
    """Left half warm, right half black."""
    octets = np.zeros((height, width, 3), np.uint8)
    octets[:, : width // 2] = WARM
    return Image.fromarray(octets)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".gif", ".bmp", ".tif", ".ppm"])
def test_every_format_opens_as_rgb(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    picture().save(path, **({"lossless": True} if suffix == ".webp" else {}))
    image = open_image(path)
    assert (image.mode, image.size) == ("RGB", (40, 24))
    np.testing.assert_allclose(np.asarray(image)[12, 5], WARM, atol=8)


def test_camera_rotation_is_undone(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise to see it upright
    picture().save(tmp_path / "x.jpg", exif=exif)
    image = open_image(tmp_path / "x.jpg")
    assert image.size == (24, 40)
    np.testing.assert_allclose(np.asarray(image)[5, 12], WARM, atol=8)


def test_transparent_is_white(tmp_path):
    clear = Image.new("RGBA", (8, 8), (*WARM, 0))
    clear.save(tmp_path / "x.png")
    assert np.asarray(open_image(tmp_path / "x.png")).min() == 255


@pytest.mark.parametrize(("dtype", "grey"), [(np.uint16, 128), (np.int32, 128), (np.float32, 255)])
def test_deep_greys_become_eight_bits(tmp_path, dtype, grey):
    Image.fromarray(np.full((4, 4), 257 * 128, dtype)).save(tmp_path / "x.tif")
    assert np.unique(np.asarray(open_image(tmp_path / "x.tif"))).tolist() == [grey]


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"^no such image: .*nothing\.png$"):
        open_image(tmp_path / "nothing.png")


def test_text_is_no_image(tmp_path):
    (tmp_path / "x.png").write_text("not a picture")
    with pytest.raises(InputError, match=r"x\.png is not an image that can be read \(JPEG, PNG"):
        open_image(tmp_path / "x.png")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".gif", ".bmp", ".tif"])
def test_truncated_file_is_named(tmp_path, suffix):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / f"x{suffix}")
    whole = (tmp_path / f"x{suffix}").read_bytes()
    (tmp_path / f"x{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=rf"x\{suffix} is not a"):
        open_image(tmp_path / f"x{suffix}")


@pytest.mark.parametrize("filters", ["error", "ignore"])
@pytest.mark.parametrize("limit", [500, 100])  # 960 pixels: above one, above twice the other
def test_pixel_limit_of_pillow_holds(tmp_path, monkeypatch, limit, filters):
    picture().save(tmp_path / "x.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with warnings.catch_warnings():
        warnings.simplefilter(filters)
        with pytest.raises(InputError, match=r"x\.png is too large to open safely"):
            open_image(tmp_path / "x.png")


def test_formats_that_start_programs_are_not_tried(tmp_path):
    picture().save(tmp_path / "x.eps")
    (tmp_path / "x.eps").rename(tmp_path / "x.png")
    with pytest.raises(InputError, match="is not an image that can be read"):
        open_image(tmp_path / "x.png")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".gif", ".bmp", ".tif", ".ppm"])
def test_damaged_pictures_open_or_are_named(tmp_path, suffix):
    file = io.BytesIO()
    kinds = {".jpg": "JPEG", ".tif": "TIFF"}
    picture().save(file, kinds.get(suffix, suffix[1:].upper()))
    rng, path, refused = np.random.default_rng(7), tmp_path / f"x{suffix}", []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, about odd metadata
        for _ in range(300):
            octets = np.frombuffer(file.getvalue(), np.uint8).copy()
            places = rng.integers(0, len(octets), rng.integers(1, 12))
            octets[places] = rng.integers(0, 256, len(places))
            path.write_bytes(octets[: rng.integers(1, 2 * len(octets))].tobytes())
            try:
                open_image(path)
            except CRLMError as error:
                refused.append(str(error))
    assert len(refused) > 20
    assert all(f"x{suffix}" in said and "\n" not in said for said in refused)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_thumbnail_keeps_the_shape_and_gives_equal_bytes(tmp_path, format):
    picture(400, 200).save(tmp_path / "x.png")
    made = thumbnail(tmp_path / "x.png", 64, format=format)
    assert made == thumbnail(tmp_path / "x.png", 64, format=format)
    with Image.open(io.BytesIO(made)) as image:
        assert (image.format, image.size) == (format, (64, 32))
        np.testing.assert_allclose(np.asarray(image.convert("RGB"))[16, 8], WARM, atol=12)


def test_large_jpeg_is_decoded_small(tmp_path):
    picture(2000, 1000).save(tmp_path / "x.jpg")
    assert open_image(tmp_path / "x.jpg", at_least=96).size == (250, 125)


def test_thumbnail_of_an_array_is_not_enlarged():
    with Image.open(io.BytesIO(thumbnail(np.full((25, 20), 0.5), 96, format="PNG"))) as image:
        assert image.size == (20, 25)
        assert np.unique(np.asarray(image)).tolist() == [128]


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array([[0.0, 0.5, 1.0]]), [0, 128, 255]),
        (np.array([[np.nan, -1.0, 7.0]]), [0, 0, 255]),
        (np.array([[0, 128, 300]]), [0, 128, 255]),
        (np.array([[False, True]]), [0, 255]),
    ],
)
def test_numbers_as_grey_values(array, values):
    assert np.asarray(as_image(array))[0, :, 0].tolist() == values


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "not \\(3,\\)"),
        (np.zeros((2, 2, 2)), "not \\(2, 2, 2\\)"),
        (np.zeros((0, 2)), "has no pixels"),
        (np.array([["a"]]), "holds numbers, not <U1"),
    ],
)
def test_arrays_that_are_no_pictures_are_refused(array, words):
    with pytest.raises(InputError, match=words):
        as_image(array)


def test_pixels_are_stretched_and_padded_is_not(tmp_path):
    picture(40, 20).save(tmp_path / "x.png")
    assert pixels(tmp_path / "x.png", 16).shape == (16, 16, 3)
    grey = pixels(tmp_path / "x.png", 16, grey=True)
    assert grey.shape == (16, 16)
    assert grey[0, 0] == grey[15, 0] > 50
    white = padded(tmp_path / "x.png", 16)
    assert white[0].min() == 255
    assert white[8, 2].tolist() == list(WARM)


def test_images_of_a_folder_are_listed_in_one_order(tmp_path):
    for name in ("b.PNG", "a/z.jpg", "a.png", "Ä.webp", ".hidden.png", "notes.txt", ".git/x.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path).as_posix() for path in list_images(tmp_path)]
    assert found == ["a/z.jpg", "a.png", "b.PNG", "Ä.webp"]
    assert not is_image("README")


def test_import_does_not_load_pillow():
    import subprocess

    code = "import crlm.images, sys; print('PIL' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout == "False\n"
