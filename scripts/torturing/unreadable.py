"""What cannot be read now is not absent: the answer without it would be another one."""
import errno
import threading

from torturing.bench import Failure, verdict_of

ERRORS = ("EIO", "ESTALE", "EPERM")
START = ("--config", "study.json", "-o", "out", "-q", "-j", "1", "--json")
COMPARE = ("compare", "out/study", "--json")
# Of a finished study both; of one that was killed half-way the start, which goes on with it.
COMMANDS = (("finished", COMPARE), ("finished", START), ("half", START))
STUDIES = ("tiny", "growing", "tuned")

lock = threading.Lock()
known = {}  # study → every case of it; (study, state, command) → the undisturbed answer


def environment(t, **more):
    return {"LD_PRELOAD": t.bench.shim, "FFN_SHIM_ROOT": str(t.place / "out"), **more}


def cases_of(t, study):
    if study in known:
        return known[study]
    base = t.bench.undisturbed(study)
    cases = []
    for state, command in COMMANDS:
        place = base.place / f"looks-{state}-{len(command)}"
        place.mkdir()
        counted = t.at(place)
        counted.take(study, state)
        looks = place / "looks"
        result = counted.run(*command, limit=60, environment=environment(counted, FFN_SHIM_LOOKS=str(looks)))
        if result.code != 0 or not looks.exists():
            raise Failure(f"under the shim: {result.tail()}")
        known[study, state, command] = verdict_of(result)
        cases += [(state, command, n, error) for n in range(1, looks.stat().st_size + 1) for error in ERRORS]
    known[study] = cases
    return cases


def unreadable(t, random):
    """One open, read, stat or readdir of a study fails: the undisturbed answer, or exit code 3 and the name of what cannot be read."""
    study = STUDIES[t.seed % len(STUDIES)]
    with lock:
        cases = cases_of(t, study)
    # Seeds that follow one another are spread over the cases; as many of them as there are cases are all of them.
    state, command, n, error = cases[t.seed // len(STUDIES) * 7919 % len(cases)]
    t.take(study, state)
    t.note = f"look {n} of {len(cases)}: {error}, {study} {state}, {command[0]}"
    result = t.run(*command, limit=60, environment=environment(t, FFN_SHIM_FAIL=f"look:{n}:{getattr(errno, error)}"))
    wanted = known[study, state, command]
    if result.code == 0 and verdict_of(result) != wanted:
        raise Failure(f"another answer: {result.err[-300:]}")
    if result.code not in (0, 3) or (result.code == 3 and "out/" not in result.err):
        raise Failure(f"{result.tail()}")
    again = t.run(*START, limit=60)
    if again.code != 0 or verdict_of(again) != known[study, "finished", START]:
        raise Failure(f"the next start comes to another answer: {again.tail()}")
