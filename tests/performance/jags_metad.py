"""The single-subject model of meta-d′ as a JAGS program, run by the ``jags`` command, its draws read back."""

import subprocess

import numpy as np

MODEL = """
model {
  c1 ~ dnorm(0, 2)
  d1 ~ dnorm(0, 0.5)
  meta ~ dnorm(d1, 0.5)
  hits ~ dbin(phi(d1 / 2 - c1), n2)
  alarms ~ dbin(phi(-d1 / 2 - c1), n1)
  for (j in 1:cuts) {
    free1[j] ~ dnorm(0, 2) T(, c1 - tol)
    free2[j] ~ dnorm(0, 2) T(c1 + tol, )
  }
  below <- sort(free1)
  above <- sort(free2)
  for (s in 1:2) {
    centre[s] <- (2 * s - 3) * meta / 2
    reached[s, 1] <- 0
    for (j in 1:cuts) {
      reached[s, 1 + j] <- phi(below[j] - centre[s])
      reached[s, 2 + cuts + j] <- phi(above[j] - centre[s])
    }
    reached[s, 2 + cuts] <- phi(c1 - centre[s])
    reached[s, 3 + 2 * cuts] <- 1
    for (k in 1:(cuts + 1)) {
      p1[s, k] <- max((reached[s, k + 1] - reached[s, k]) / reached[s, 2 + cuts], tol)
      p2[s, k] <- max((reached[s, cuts + k + 2] - reached[s, cuts + k + 1]) / (1 - reached[s, 2 + cuts]), tol)
    }
    for (k in 1:(cuts + 1)) {
      q1[s, k] <- p1[s, k] / sum(p1[s, ])
      q2[s, k] <- p2[s, k] / sum(p2[s, ])
    }
    rated1[s, 1:(cuts + 1)] ~ dmulti(q1[s, 1:(cuts + 1)], total1[s])
    rated2[s, 1:(cuts + 1)] ~ dmulti(q2[s, 1:(cuts + 1)], total2[s])
  }
}
"""
WATCHED = ("c1", "d1", "meta", "below", "above")


def run(folder, n_s1, n_s2, chains, burn_in, draws, timeout=300):
    """Return the draws of every parameter, ``(chains, draws, parameters)``, and their names."""
    folder.joinpath("model.txt").write_text(MODEL)
    folder.joinpath("data.txt").write_text(_data(np.array([n_s1, n_s2])))
    lines = ["model in model.txt", "data in data.txt", f"compile, nchains({chains})"]
    for chain in range(chains):
        start = f'".RNG.name" <- "base::Wichmann-Hill"\n".RNG.seed" <- {chain + 1}\n'
        folder.joinpath(f"start{chain + 1}.txt").write_text(start)
        lines.append(f"parameters in start{chain + 1}.txt, chain({chain + 1})")
    lines += ["initialize", f"update {burn_in}", *(f"monitor {name}" for name in WATCHED)]
    lines += [f"update {draws}", "coda *", "exit"]
    folder.joinpath("script.txt").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["jags", "script.txt"], cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )
    index = folder / "CODAindex.txt"
    assert index.is_file(), (done.stdout + done.stderr)[-2000:]
    spans = [line.split() for line in index.read_text().splitlines()]
    tables = []
    for chain in range(chains):
        values = np.loadtxt(folder / f"CODAchain{chain + 1}.txt", usecols=1)
        tables.append(np.stack([values[int(first) - 1 : int(last)] for _, first, last in spans], axis=1))
    return np.array(tables), [name for name, _, _ in spans]


def _data(counts):
    k = counts.shape[1] // 2
    first, second = counts[:, :k], counts[:, k:]
    n1, n2, alarms, hits = (int(each.sum()) for each in (*counts, *second))
    values = {"cuts": k - 1, "tol": 1e-5, "n1": n1, "n2": n2, "alarms": alarms, "hits": hits}
    text = [f"{name} <- {value}" for name, value in values.items()]
    for name, part in (("1", first), ("2", second)):
        numbers = ", ".join(str(int(n)) for n in part.T.ravel())
        text.append(f"rated{name} <- structure(c({numbers}), .Dim = c(2, {k}))")
        text.append(f"total{name} <- c({', '.join(str(int(n)) for n in part.sum(axis=1))})")
    return "\n".join(text) + "\n"
