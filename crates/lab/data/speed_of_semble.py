"""How fast `semble` is: python speed_of_semble.py TREE WORDS QUESTIONS

Prints how many chunks it made of TREE, in how many seconds, and the seconds of each question. Its weights are not at hand, and how fast
it is does not depend on what they say: a table of the same size with random numbers takes their place. WORDS is a file with the words of
that table, QUESTIONS one with a question in each line.
"""

import re
import sys
import tempfile
import time

import numpy
from model2vec import StaticModel
from semble import SembleIndex
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

# As large as the table that it comes with: about 30,000 pieces of words, 256 numbers each.
PIECES, NUMBERS = 30_000, 256


def model(words: str) -> str:
    found = sorted(set(re.findall(r"[a-z]{2,}", words.lower())))[: PIECES - 64]
    letters = [chr(code) for code in range(33, 127)]
    pieces = ["[UNK]", *letters, *("##" + letter for letter in letters), *found]
    table = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(table, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rows = numpy.random.default_rng(1).normal(size=(len(table), NUMBERS)).astype(numpy.float32)
    folder = tempfile.mkdtemp()
    StaticModel(rows, tokenizer).save_pretrained(folder)
    return folder


def main() -> None:
    tree, words, questions = sys.argv[1:]
    weights = model(open(words, encoding="utf-8").read())
    start = time.perf_counter()
    index = SembleIndex.from_path(tree, model_path=weights)
    print(index.stats.total_chunks, time.perf_counter() - start)
    for question in open(questions, encoding="utf-8").read().splitlines():
        start = time.perf_counter()
        index.search(question, top_k=10)
        print(time.perf_counter() - start)


main()
