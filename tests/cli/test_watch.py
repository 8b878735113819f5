#!/usr/bin/env python3
"""`ffn-train watch`: who is answered and who is not, what the page does while a study grows, and how it ends."""
import base64
import hashlib
import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import browser
from program import ProgramTest, main

STUDY = {
    "name": "study", "seeds": 3, "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 50, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/loss", "at_most": 0.1}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 2]}},
}


class Watch(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ok(self.write("study.json", STUDY), "-q")
        self.watching = None

    def tearDown(self):
        if self.watching and self.watching.poll() is None:
            self.watching.kill()
            self.watching.wait()
        if self.watching:
            self.watching.stdout.close()
        super().tearDown()

    def watch(self, *arguments):
        with open(self.tmp / "said", "w", encoding="utf-8") as said:
            self.watching = subprocess.Popen(self.command("watch", *(arguments or ("runs/study",))), cwd=self.tmp, stdout=subprocess.PIPE, stderr=said, text=True)
        self.address = self.watching.stdout.readline().strip()
        self.assertRegex(self.address, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$")
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.path = "/" + self.address.split("/", 3)[3]
        return self.address

    def get(self, path="", host=None):
        request = urllib.request.Request(self.address + path, headers={"Host": host} if host else {})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer, answer.read().decode()

    def status(self, path="", **changes):
        try:
            return self.get(path, **changes)[0].status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def raw(self, text, patience=20):
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as connection:
            connection.sendall(text.encode() if isinstance(text, str) else text)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        return answer.decode()

    def version(self, page):
        return int(re.search(r'<main data-version="(\d+)">', page)[1])

    def wait_for_news(self, version, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.status(f"state?v={version}") == 200:
                return json.loads(self.get(f"state?v={version}")[1])["version"]
            time.sleep(0.3)
        self.fail(f"still version {version} after {seconds} s")

    def end(self):
        started = time.monotonic()
        self.watching.send_signal(signal.SIGINT)
        self.assertEqual(self.watching.wait(20), 0)
        return time.monotonic() - started

    def test_the_page_is_that_of_report_and_nothing_is_written(self):
        before = self.files()
        self.watch()
        answer, page = self.get()
        self.assertEqual([name for name in self.files() if name != "said"], before)
        self.ok("report", "runs/study")

        def content(text):
            return re.sub(r"written \S+", "", re.search(r"<main[^>]*>(.*)</main>", text, re.S)[1])
        self.assertEqual(content(page), content((self.tmp / "runs/study/report.html").read_text()))
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(answer.headers["X-Frame-Options"], "DENY")
        self.assertFalse([name for name in answer.headers if name.lower().startswith("access-control")])

    def test_the_policy_names_what_the_page_has_and_no_more(self):
        self.watch()
        answer, page = self.get()
        policy = answer.headers["Content-Security-Policy"]
        self.assertTrue(policy.startswith("default-src 'none'; "))
        self.assertNotIn("unsafe", policy)
        self.assertEqual(re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1] + "; frame-ancestors 'none'", policy)
        inline = re.findall(r"<(style|script)>(.*?)</\1>", page, re.S)
        self.assertEqual([kind for kind, _ in inline], ["style", "script", "script"])
        for kind, text in inline:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertRegex(policy, rf"{kind}-src [^;]*'sha256-{re.escape(digest)}'")
        self.assertEqual(policy.count("sha256-"), 3)
        self.assertNotRegex(page, r'<[^>]* style="')  # which no hash allows

    def test_who_is_not_answered(self):
        self.watch()
        self.assertEqual(self.status(), 200)
        self.assertEqual(self.status(host=f"localhost:{self.port}"), 200)
        for host in ("evil.example", f"evil.example:{self.port}", "127.0.0.1", f"127.0.0.1:{self.port + 1}"):
            self.assertEqual(self.status(host=host), 403, host)
        for path in ("x", "state/x", "config.json", "../state", "..%2f..%2fetc/passwd", "%2e%2e/"):
            self.assertEqual(self.status(path), 404, path)
        wrong = self.path[:-2] + ("0" if self.path[-2] != "0" else "1") + "/"
        for path in ("/", wrong, self.path[:-1], "/etc/passwd", "//" + self.path):
            self.assertIn(" 404 ", self.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n").splitlines()[0], path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
            self.assertIn(" 405 ", self.raw(f"{method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n").splitlines()[0])
        self.assertIn(" 400 ", self.raw("nonsense\r\n\r\n").splitlines()[0])
        self.assertIn(" 431 ", self.raw(f"GET {self.path} HTTP/1.1\r\nx: {'y' * 9000}\r\n\r\n").splitlines()[0])

    def test_it_listens_on_this_machine_alone(self):
        self.watch()
        with open("/proc/net/tcp", encoding="ascii") as table:
            listening = [line.split()[1] for line in table if line.split()[3] == "0A" and line.split()[1].endswith(f":{self.port:04X}")]
        self.assertEqual(listening, [f"0100007F:{self.port:04X}"])
        with open("/proc/net/tcp6", encoding="ascii") as table:
            self.assertFalse([line for line in table if f":{self.port:04X} " in line.split()[1] + " " and line.split()[3] == "0A"])

    def test_a_client_that_stalls_blocks_nobody(self):
        self.watch()
        stalled = []
        for i in range(50):  # more than it keeps
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
            connection.sendall(b"GET / HT" if i % 2 else b"")
            stalled.append(connection)
        started = time.monotonic()
        self.assertEqual(self.status(), 200)
        self.assertLess(time.monotonic() - started, 3)
        reader = socket.create_connection(("127.0.0.1", self.port), timeout=20)  # asks, and does not read
        reader.sendall(f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        self.assertEqual(self.status("state"), 200)
        time.sleep(6)
        for connection in stalled:
            try:
                self.assertEqual(connection.recv(1), b"")  # shown out
            except ConnectionResetError:
                pass
            connection.close()
        reader.close()
        self.assertEqual(self.status(), 200)
        self.assertLess(self.end(), 2)

    def test_it_follows_a_study_that_grows_and_survives_what_becomes_of_it(self):
        self.watch()
        page = self.get()[1]
        version = self.version(page)
        self.assertEqual(self.status(f"state?v={version}"), 304)
        self.assertIn("12 runs", page)
        time.sleep(3)
        self.assertEqual(self.status(f"state?v={version}"), 304)  # nothing new: nothing drawn
        self.ok("study.json", "seeds=5", "-q")
        self.wait_for_news(version)
        end = time.monotonic() + 60
        while "20 runs · written" not in (page := self.get()[1]) and time.monotonic() < end:
            self.status("state?v=0")
            time.sleep(0.5)
        self.assertIn("20 runs · written", page)  # all have ended
        version = self.version(page)
        (self.tmp / "runs/study").rename(self.tmp / "runs/elsewhere")
        end = time.monotonic() + 60
        while self.status(f"state?v={version}") == 304 and time.monotonic() < end:
            time.sleep(0.5)
        self.assertIn("the page stays as it was", (self.tmp / "said").read_text())
        state = json.loads(self.get(f"state?v={version}")[1])
        self.assertEqual(state["version"], version)
        self.assertIn("runs/study", state["problem"])
        self.assertEqual(self.status(), 200)
        (self.tmp / "runs/elsewhere").rename(self.tmp / "runs/study")
        end = time.monotonic() + 60
        while self.status(f"state?v={version}") == 200 and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(self.status(f"state?v={version}"), 304)
        self.assertLess(self.end(), 2)

    def test_a_reload_of_the_page_brings_news_without_its_script(self):
        self.watch()
        page = self.get()[1]
        self.assertIn('<noscript><meta http-equiv="refresh" content="10"></noscript>', page.partition("</head>")[0])
        self.ok("report", "runs/study")
        self.assertNotIn("http-equiv=\"refresh\"", (self.tmp / "runs/study/report.html").read_text())
        self.ok("study.json", "seeds=5", "-q")
        end = time.monotonic() + 60
        while "20 runs" not in page and time.monotonic() < end:
            time.sleep(2)
            page = self.get()[1]
        self.assertIn("20 runs", page)

    def test_a_study_that_has_just_begun(self):
        steps = {**STUDY, "name": "slow", "train": {**STUDY["train"], "steps": 200000, "eval_every": 1000}}
        training = subprocess.Popen(self.command(self.write("slow.json", steps), "-q", "-j", "1"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not list(self.tmp.glob("runs/slow/*/seed-*/config.json")):
                time.sleep(0.05)
            self.watch("runs/slow")
            first = self.version(self.get()[1])
            self.wait_for_news(first)
            self.assertRegex(self.get()[1], r"\d+ of \d+ runs have ended, \d+ % of the steps are done, about [^<]* left")
        finally:
            training.send_signal(signal.SIGINT)
            training.wait(60)

    def test_a_study_whose_first_run_has_not_begun_is_waited_for(self):
        (self.tmp / "runs/study").rename(self.tmp / "whole")
        (self.tmp / "runs/study").mkdir()
        (self.tmp / "runs/study/study.json").write_text((self.tmp / "whole/study.json").read_text())
        self.watch()
        page = self.get()[1]
        self.assertIn("No run has begun yet", page)
        self.assertIn("no run has begun yet", (self.tmp / "said").read_text())
        version = self.version(page)
        self.assertEqual(self.status(f"state?v={version}"), 304)
        run = "activation=relu+expansion=1/seed-0"
        (self.tmp / "runs/study" / run).parent.mkdir()
        (self.tmp / "whole" / run).rename(self.tmp / "runs/study" / run)
        self.wait_for_news(version)
        page = self.get()[1]
        self.assertNotIn("No run has begun yet", page)
        self.assertIn('<section id="table">', page)
        self.assertLess(self.end(), 2)

    def test_ctrl_c_ends_the_waiting(self):
        (self.tmp / "waiting").mkdir()
        (self.tmp / "waiting/study.json").write_text((self.tmp / "runs/study/study.json").read_text())
        self.watch("waiting")
        self.assertLess(self.end(), 2)

    def test_how_it_ends_and_what_is_wrong(self):
        self.assertIn("no directory nowhere", self.fails(3, "watch", "nowhere"))
        (self.tmp / "empty").mkdir()
        self.assertIn("there are no runs to compare", self.fails(3, "watch", "empty"))
        for number in (signal.SIGINT, signal.SIGTERM):
            self.watch()
            started = time.monotonic()
            self.watching.send_signal(number)
            self.assertEqual(self.watching.wait(20), 0)
            self.assertLess(time.monotonic() - started, 2)
            self.watching.stdout.close()
        first = self.watch()
        self.end()
        self.watching.stdout.close()
        second = self.watch()
        self.assertNotEqual(first.split("/")[3], second.split("/")[3])
        self.end()

    def test_the_page_takes_in_news_and_keeps_what_was_unfolded(self):
        if not browser.PROGRAM:
            self.skipTest("no Chromium")
        self.watch()

        class Address:
            def resolve(self):
                return self

            def as_uri(inner):
                return self.address
        with browser.Browser() as page:
            _, said = page.open(Address())
            self.assertEqual(said, [])
            page.evaluate("document.querySelector('figure details').open = true; document.querySelector('figure [data-axis=x]').click()")
            version = page.evaluate("document.querySelector('main').dataset.version")
            self.ok("study.json", "seeds=5", "-q")
            end = time.monotonic() + 60
            while page.evaluate("document.querySelector('main').dataset.version") == version and time.monotonic() < end:
                time.sleep(0.5)
            self.assertNotEqual(page.evaluate("document.querySelector('main').dataset.version"), version)
            self.assertTrue(page.evaluate("document.querySelector('figure details').open"))
            self.assertEqual(page.evaluate("document.querySelector('figure.chart').dataset.x"), "log")
            self.assertGreater(page.evaluate("document.querySelectorAll('button.key').length"), 1)
            says = "document.querySelector('header').textContent.includes('This page stays as it was: ')"
            for home, away, expected in (("study", "elsewhere", True), ("elsewhere", "study", False)):
                (self.tmp / "runs" / home).rename(self.tmp / "runs" / away)
                end = time.monotonic() + 60
                while page.evaluate(says) != expected and time.monotonic() < end:
                    time.sleep(0.5)
                self.assertEqual(page.evaluate(says), expected)


if __name__ == "__main__":
    main()
