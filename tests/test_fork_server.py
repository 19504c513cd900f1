"""Scripts that a fork of a process with all imports runs: their output, exit status, environment and end."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest

from shallows_papers.experiments.running import fork_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server beyond Linux")

HEAD = """
import sys
from shallows_papers.experiments.running import fork_server
fork_server.hand_over()
"""


@pytest.fixture(scope="module")
def server():
    """A server, and the environment that names it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(fork_server.ADDRESS, raising=False)
        process = fork_server.start()
        environment = dict(os.environ)
        yield process, environment
        process.stdin.close()
        assert process.wait(60) == 0 and not os.path.exists(environment[fork_server.ADDRESS])


@pytest.fixture
def script(server, tmp_path):
    """Starts a script; a fork of the server runs instead."""

    def start(body, *arguments, **variables):
        path = tmp_path / "script.py"
        path.write_text(HEAD + textwrap.dedent(body))
        command, environment = [sys.executable, str(path), *arguments], {**server[1], **variables}
        return subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def said(*given, **variables):
        process = start(*given, **variables)
        return process.communicate(timeout=100)[0].decode(), process.returncode

    start.said = said
    return start


def test_a_script_runs_in_a_fork_with_its_own_folder_arguments_environment_and_status(script, server, tmp_path):
    body = """
        import os
        print(os.getppid(), os.getcwd(), sys.argv[1:], os.environ["WORD"], "sklearn" in sys.modules)
        print("told", file=sys.stderr)
        sys.exit(3)
    """
    said, status = script.said(body, "one", "two", WORD="here")
    assert said.split("\n")[:2] == [f"{server[0].pid} {tmp_path} ['one', 'two'] here True", "told"] and status == 3


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("pass", 0, ""),
        ("sys.exit('why')", 1, "why"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("import atexit; atexit.register(print, 'at the end')", 0, "at the end"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed"),
    ],
)
def test_how_a_script_ends_is_how_its_process_ends(script, body, status, words):
    said, found = script.said(body)
    assert found == status and words in said


def test_the_libraries_have_the_threads_that_the_environment_says(script):
    body = """
        import threadpoolctl
        print({pool["num_threads"] for pool in threadpoolctl.threadpool_info()})
    """
    assert script.said(body, OMP_NUM_THREADS="1")[0].strip() == "{1}"


@pytest.mark.parametrize(("number", "words"), [(signal.SIGTERM, b"asked"), (signal.SIGKILL, b"")])
def test_a_script_whose_process_is_ended_is_asked_to_end(script, tmp_path, number, words):
    process = script(
        """
        import signal, time
        def end(*_):
            print("asked", flush=True)
            open("ended", "w").close()
            sys.exit(5)
        signal.signal(signal.SIGTERM, end)
        print("begun", flush=True)
        time.sleep(60)
        """
    )
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    assert words in process.communicate(timeout=60)[0]
    assert process.returncode == (5 if number == signal.SIGTERM else -signal.SIGKILL)
    for _ in range(100):
        if (tmp_path / "ended").exists():
            break
        time.sleep(0.05)
    assert (tmp_path / "ended").exists()


def test_a_job_may_be_asked_to_end_right_after_its_request():
    job, server = socket.socketpair()
    with job, server, open(os.devnull) as nothing:
        request = {"script": ["s.py"], "folder": "x" * 100_000, "environment": {}}
        words = json.dumps(request).encode()
        socket.send_fds(job, [len(words).to_bytes(8, "big")], [nothing.fileno()] * 3)
        job.sendall(words + b"t")
        received, descriptors = fork_server._receive(server)
        assert received == request and len(descriptors) == 3 and server.recv(9) == b"t"
        for one in descriptors:
            os.close(one)


def test_where_no_server_answers_the_process_runs_its_script_itself(script, tmp_path):
    body = "import os; print(os.getpid())"
    for address in ("", str(tmp_path / "nobody")):
        process = script(body, **{fork_server.ADDRESS: address})
        assert int(process.communicate(timeout=60)[0]) == process.pid


def test_no_server_is_started_where_the_variable_is_set_to_nothing(monkeypatch):
    monkeypatch.setenv(fork_server.ADDRESS, "")
    assert fork_server.start() is None
