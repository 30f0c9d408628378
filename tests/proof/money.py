"""What is promised about money: holds before sending, one commit, a cap that holds, true bills."""

from __future__ import annotations

from tests.proof.promise import Promise

BUDGET = "engine/spending/test_budget.py::"
LEDGER = "engine/spending/test_ledger.py::"
RECONCILE = "engine/spending/test_reconcile.py::"
RECOVERY = "engine/test_recovery.py::"
CALLS = "engine/calls/test_calls.py::"
BOUNDS = "engine/calls/test_bounds.py::"
STORE = "engine/store/test_store.py::"
MONEY = "engine/test_money.py::"
PRICES = "engine/pricing/test_manager_prices.py::"
FOLLOW = "engine/transcripts/test_follow_transcripts.py::"

CAP = (
    Promise(
        "a hold is on disk before anything is sent",
        "engine/spending/budget.py",
        "            holds.add(conn, hold)\n",
        "",
        (
            BUDGET + "test_a_hold_is_on_disk_before_reserve_returns",
            RECOVERY + "test_a_living_engine_is_left_alone",
        ),
    ),
    Promise(
        "what would pass the cap is refused",
        "engine/spending/budget.py",
        "    if spend.spent_pico + pico > cap:\n",
        "    if False:\n",
        (
            BUDGET + "test_a_refusal_names_spent_held_estimate_cap_and_reset_in_one_line",
            BUDGET + "test_a_wait_ends_in_a_refusal_when_the_holds_cost_too_much",
        ),
    ),
    Promise(
        "holds of others count against the cap",
        "engine/spending/budget.py",
        "return spend.spent_pico + spend.held_pico + pico <= cap",
        "return spend.spent_pico + pico <= cap",
        (
            BUDGET + "test_what_only_other_holds_keep_out_waits_until_they_settle",
            BUDGET + "test_holds_of_another_engine_are_waited_for",
            "engine/test_budget_properties.py::test_many_at_once_never_pass_the_cap",
        ),
    ),
    Promise(
        "a strict hold is an upper bound",
        "engine/calls/bounds.py",
        "most = max(price.bound_pico(weight.most_tokens, weight.output_cap, MARGIN)"
        " for price in prices)",
        "most = estimate",
        (BOUNDS + "test_strict_holds_a_token_a_byte_with_a_quarter_on_top",),
    ),
    Promise(
        "a price that nobody knows is refused in strict mode",
        "engine/calls/bounds.py",
        "    if unknown:\n        raise BudgetRefused(",
        "    if not prices:\n        return Bound(estimate, estimate)\n"
        "    if False:\n        raise BudgetRefused(",
        (
            BOUNDS + "test_strict_refuses_an_unknown_price_of_a_fallback_too",
            CALLS + "test_an_unknown_price_is_refused_with_the_two_ways_out",
        ),
    ),
    Promise(
        "fallbacks are held at the dearest",
        "engine/calls/bounds.py",
        "most = max(price.bound_pico(weight.most_tokens",
        "most = min(price.bound_pico(weight.most_tokens",
        (
            BOUNDS + "test_fallbacks_are_held_at_the_dearest",
            CALLS + "test_fallbacks_go_out_in_order_and_are_held_at_the_dearest",
        ),
    ),
    Promise(
        "a released hold frees its money",
        "engine/spending/budget.py",
        "await self._write_and_look(lambda conn: holds.drop(conn, call))",
        "await self._write_and_look(lambda _conn: None)",
        (BUDGET + "test_released_holds_let_the_next_go",),
    ),
    Promise(
        "a reservation that is cancelled leaves no hold",
        "engine/spending/budget.py",
        "            self._store.post(\n"
        "                lambda conn: holds.drop(conn, ask.call),\n"
        "                on_failure=lambda: self._owed.setdefault(ask.call, None),\n"
        "            )\n",
        "",
        (BUDGET + "test_a_reservation_that_is_cancelled_leaves_no_hold",),
    ),
    Promise(
        "a clock that moves back does not open the cap again",
        "engine/store/days.py",
        "day = max(clock_day, booked) if booked is not None and booked <= limit else clock_day",
        "day = clock_day",
        (
            BUDGET + "test_a_clock_that_moves_back_a_day_does_not_open_the_cap_again",
            "engine/store/test_days.py::test_a_booked_day_is_not_left_again",
        ),
    ),
)

BILLS = (
    Promise(
        "the bill and the end of its hold are one commit",
        "engine/spending/budget.py",
        "            holds.drop(conn, hold.call)\n            zone",
        "            zone",
        (
            BUDGET + "test_spent_held_and_free_are_three_numbers",
            RECOVERY + "test_jobs_of_a_dead_engine_are_lost_and_its_holds_estimates",
        ),
    ),
    Promise(
        "settling twice books once",
        "engine/spending/booking.py",
        "    if ledger_rows.get(conn, entry.call) is not None:\n"
        "        return ledger_rows.correct(conn, entry.call, entry.cost, entry.at, zone)\n",
        "",
        (
            BUDGET + "test_settling_twice_books_once",
            BUDGET + "test_a_late_bill_replaces_the_estimate_that_was_booked_meanwhile",
        ),
    ),
    Promise(
        "unknown is never nothing against the cap",
        "engine/spending/booking.py",
        "return known or rules.unknown_charge_pico",
        "return 0",
        (
            BUDGET + "test_unknown_cost_counts_its_estimate_against_the_cap",
            BUDGET + "test_unknown_cost_without_an_estimate_counts_the_unknown_charge",
        ),
    ),
    Promise(
        "a call belongs to the day of its hold",
        "engine/spending/booking.py",
        "return ledger_rows.add(conn, entry, hold.day, _charge(cost, hold, rules), zone)",
        "return ledger_rows.add(conn, entry, entry.at.date(), _charge(cost, hold, rules), zone)",
        (BUDGET + "test_a_call_belongs_to_the_day_of_its_hold",),
    ),
    Promise(
        "what a full disk did not take is booked later",
        "engine/spending/budget.py",
        "            self._owed[hold.call] = (hold, entry)\n",
        "",
        (BUDGET + "test_what_a_full_disk_did_not_take_is_booked_once_there_is_room",),
    ),
    Promise(
        "a correction is a row with the difference",
        "engine/spending/ledger_rows.py",
        "cost=Cost(cost.pico - (amount or 0), cost.source),",
        "cost=cost,",
        (LEDGER + "test_a_correction_is_a_row_with_the_difference",),
    ),
    Promise(
        "a correction counts once and has no tokens",
        "engine/spending/ledger_rows.py",
        "        usage=Usage(),\n        cost=Cost(cost.pico",
        "        cost=Cost(cost.pico",
        (LEDGER + "test_a_correction_is_a_row_with_the_difference",),
    ),
    Promise(
        "the same correction twice adds nothing",
        "engine/spending/ledger_rows.py",
        "    if not is_open and amount == cost.pico and source is cost.source:\n"
        "        return None\n",
        "",
        (LEDGER + "test_the_same_correction_twice_adds_nothing",),
    ),
    Promise(
        "every attempt that may be billed is booked",
        "engine/calls/attempt.py",
        "if not self._reading.started and not _may_be_billed(error):",
        "if not self._reading.started:",
        (CALLS + "test_every_attempt_that_may_be_billed_is_booked_to_the_job",),
    ),
    Promise(
        "a refusal costs nothing",
        "engine/calls/attempt.py",
        "if not self._reading.started and not _may_be_billed(error):",
        "if False:",
        (CALLS + "test_a_refusal_costs_nothing",),
    ),
    Promise(
        "a cancelled answer is booked at once, as an estimate",
        "engine/calls/attempt.py",
        "        except BaseException as error:\n            # A cancel included",
        "        except Exception as error:\n            # A cancel included",
        (CALLS + "test_a_cancel_while_text_comes_closes_the_stream_and_books_an_estimate",),
    ),
    Promise(
        "what was billed is known by what the provider said first",
        "engine/calls/outcome.py",
        "        return Cost(from_usd(answer.cost_usd), CostSource.REPORTED)\n",
        "        pass\n",
        (CALLS + "test_a_confirmed_zero_is_not_unknown",),
    ),
    Promise(
        "a part of a pico-dollar is rounded up",
        "engine/money.py",
        "return int((value * PER_USD).to_integral_value(ROUND_CEILING))",
        "return int(value * PER_USD)",
        (MONEY + "test_a_part_of_a_pico_dollar_is_rounded_up",),
    ),
)

AFTERMATH = (
    Promise(
        "holds of a dead engine become estimates",
        "engine/recovery.py",
        "        await budget.settle(hold, _estimate(hold, owners.get(hold.job), clock))\n",
        "        pass\n",
        (
            RECOVERY + "test_jobs_of_a_dead_engine_are_lost_and_its_holds_estimates",
            RECOVERY + "test_an_engine_that_dies_while_we_wait_for_its_hold_lets_us_go",
        ),
    ),
    Promise(
        "jobs of a dead engine are lost, and said so",
        "engine/recovery.py",
        "        await _lose(job, store, jobs)\n",
        "        pass\n",
        (RECOVERY + "test_jobs_of_a_dead_engine_are_lost_and_its_holds_estimates",),
    ),
    Promise(
        "a living engine is left alone",
        "engine/recovery.py",
        "        if lock is None:\n            continue\n",
        "",
        (RECOVERY + "test_a_living_engine_is_left_alone",),
    ),
    Promise(
        "a bill can be asked for after a kill",
        "engine/spending/booking.py",
        "entry = replace(entry, generation_id=entry.generation_id or hold.generation_id)",
        "pass",
        (BUDGET + "test_a_generation_id_noted_on_the_hold_is_booked_with_it",),
    ),
    Promise(
        "the store writes through to the disk",
        "engine/store/transactions.py",
        "{'FULL' if durable else 'NORMAL'}",
        "NORMAL",
        (STORE + "test_the_file_is_private_and_in_wal_mode_with_full_sync",),
    ),
    Promise(
        "an older program writes nothing into a newer store",
        "engine/store/transactions.py",
        "            store_file.check_version(conn, self._known, self.path)\n",
        "",
        (STORE + "test_a_running_program_stops_writing_when_a_newer_one_migrates",),
    ),
    Promise(
        "a torn line of ours is written anew",
        "engine/spending/usage_log.py",
        "        return Tail(number or 0, size - len(torn))\n",
        "        return Tail(number or 0, size, missing_newline=True)\n",
        (LEDGER + "test_a_torn_tail_of_ours_is_written_anew",),
    ),
)

WORTH = (
    Promise(
        "a price that makes no sense counts nowhere in the savings",
        "engine/pricing/manager_prices.py",
        "known = all(rate.is_finite() and 0 <= rate <= DEAREST for rate in given.values())",
        "known = True",
        (PRICES + "test_a_price_that_the_settings_would_refuse_counts_nowhere",),
    ),
    Promise(
        "own prices count in the live savings as soon as they are saved",
        "engine/transcripts/savings_steps.py",
        "        self.book.reprice()\n        return True\n",
        "        return True\n",
        (FOLLOW + "test_own_prices_count_as_soon_as_they_are_saved",),
    ),
)

PROMISES = (*CAP, *BILLS, *AFTERMATH, *WORTH)
