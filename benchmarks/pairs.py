"""All near pairs beside FAISS, scikit-learn and SciPy. With --full the sizes of the docs."""

from common import arguments, show

from crlm.bench import time_over_floor
from crlm.bench.data import embeddings, gmmub, uniform


def main() -> None:
    full, repeats = arguments(__doc__)
    n = 40_000 if full else 10_000
    for d in (10, 100, 1000):
        show("pairs", ["faiss", "radius_neighbors"], gmmub(n, d), repeats)
    show("pairs", ["faiss"], embeddings(50_000 if full else 10_000, 768), repeats)
    for d in (2, 3):
        show("pairs", ["query_pairs"], uniform(1_000_000 if full else 100_000, d), repeats)
    data = gmmub(100_000 if full else 20_000, 100)
    print(f"search over the bare product, {data.name}: {time_over_floor(data, repeats):.2f}")


if __name__ == "__main__":
    main()
