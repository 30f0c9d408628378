"""What files and terminals are promised: saves, keys, settings, paths, words of strangers."""

from __future__ import annotations

from tests.proof.promise import Promise

SAVES = "home/test_files.py::"
WRITES = "engine/files/test_write_whole.py::"
GLOBS = "engine/files/test_sandbox.py::"
CONFIG = "engine/settings/test_config.py::"
COMMANDS = "cli/test_main.py::"

PROMISES = (
    Promise(
        "keys that two programs keep at once are both kept",
        "home/files.py",
        "fcntl.flock(fd, fcntl.LOCK_EX)",
        "pass",
        (
            "engine/settings/test_providers.py::test_keys_that_are_kept_at_once_are_all_kept",
            CONFIG + "test_edits_of_several_programs_at_once_all_count",
        ),
    ),
    Promise(
        "what a kill left of a save goes with a later one",
        "home/files.py",
        "if is_unfinished(name, target.name) and is_abandoned(path.lstat()):",
        "if False:",
        (SAVES + "test_what_a_kill_left_of_a_save_goes_with_a_later_save",),
    ),
    Promise(
        "what is being written now is not swept",
        "home/files.py",
        "time.time() - status.st_mtime > ABANDONED",
        "True",
        (
            SAVES + "test_what_a_kill_left_of_a_save_goes_with_a_later_save",
            WRITES + "test_what_a_kill_left_of_an_answer_goes_with_a_later_one",
        ),
    ),
    Promise(
        "a name that is too long is refused before money is spent",
        "engine/files/confined.py",
        "if error.errno == errno.ENAMETOOLONG:",
        "if False:",
        (WRITES + "test_a_name_that_is_too_long_is_refused_before_money_is_spent",),
    ),
    Promise(
        "a name as long as a name can be is written",
        "engine/files/write_whole.py",
        'short = os.fsencode(name)[:SHORT].decode("utf-8", "ignore")',
        "short = name",
        (WRITES + "test_a_name_as_long_as_a_name_can_be_is_written",),
    ),
    Promise(
        "a glob needs no time whatever the names are",
        "engine/files/listing.py",
        "        if len(plain) + len(waiting) > ALTERNATIVES:\n",
        "        if False:\n",
        (GLOBS + "test_a_glob_needs_no_time_whatever_the_names_are",),
    ),
    Promise(
        "the first fit of a glob is taken only where any is as good",
        "engine/files/listing.py",
        'once = gap and following and (gap == "*" or following != "*")',
        "once = gap and following",
        (GLOBS + "test_a_glob_fits_what_its_parts_fit",),
    ),
    Promise(
        "a token file that holds none is made anew",
        "home/server_record.py",
        "            staged.replace(home.token)\n",
        "            pass\n",
        ("home/test_server_record.py::test_a_token_file_that_holds_none_is_made_anew",),
    ),
    Promise(
        "a relative home is registered by its whole path",
        "home/claude_settings.py",
        'str(find_home(environ).state) if environ.get("WORKERS_HOME")',
        'environ["WORKERS_HOME"] if environ.get("WORKERS_HOME")',
        ("home/test_connection.py::test_a_relative_home_is_registered_by_its_whole_path",),
    ),
    Promise(
        "the words of an error are not obeyed by the terminal",
        "cli/safe.py",
        "return text.translate(PICTURES)",
        "return text",
        (
            COMMANDS + "test_the_words_of_an_error_are_not_obeyed_by_the_terminal",
            "cli/test_worker.py::test_what_a_provider_said_is_not_obeyed_by_the_terminal",
        ),
    ),
    Promise(
        "gate.json is written once the disk takes it again",
        "engine/gate_file.py",
        "            self._complain(f",
        "            self._written = gate\n            self._complain(f",
        ("engine/test_shapes.py::test_gate_json_is_written_once_the_disk_takes_it_again",),
    ),
)
