"""A peer's side: `python peers.py PEER FILE SUPPORT`, a share. Prints how many itemsets there are, as JSON.

What is timed is the whole process, reading the file included, as a user of the peer would: lists of lists for
pyfim, a sparse frame for mlxtend, lines of text for Spark, which has an environment of its own.
"""

import json
import sys
from pathlib import Path


def with_pyfim(algorithm: str, file: Path, support: float) -> int:
    """Borgelt's C behind Python lists."""
    import fim

    with file.open() as lines:
        transactions = [[int(item) for item in line.split()] for line in lines]
    return len(getattr(fim, algorithm)(transactions, target="s", supp=100 * support, report="a"))


def with_mlxtend(file: Path, support: float) -> int:
    """FP-growth in Python."""
    import pandas as pd
    from mlxtend.frequent_patterns import fpgrowth
    from mlxtend.preprocessing import TransactionEncoder

    with file.open() as lines:
        transactions = [[int(item) for item in line.split()] for line in lines]
    encoder = TransactionEncoder()
    matrix = encoder.fit(transactions).transform(transactions, sparse=True)
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=[str(each) for each in encoder.columns_])
    return len(fpgrowth(frame, min_support=support))


def with_spark(file: Path, support: float) -> int:
    """FP-growth on two threads of a Java machine, which is waited for, so that its processor time counts."""
    from pyspark.ml.fpm import FPGrowth
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import split, trim

    settings = {"spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.log.level": "ERROR"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    machine = session.sparkContext._gateway.proc
    rows = session.read.text(str(file)).select(split(trim("value"), " ").alias("items"))
    found = FPGrowth(itemsCol="items", minSupport=support).fit(rows).freqItemsets.count()
    session.stop()
    # It ends with its input.
    machine.stdin.close()
    machine.wait()
    return int(found)


PROGRAMS = {"mlxtend": with_mlxtend, "spark": with_spark}

if __name__ == "__main__":
    name, path, share = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    program, _, method = name.partition(" ")
    itemsets = with_pyfim(method, path, share) if program == "pyfim" else PROGRAMS[program](path, share)
    print(json.dumps({"itemsets": itemsets}))
