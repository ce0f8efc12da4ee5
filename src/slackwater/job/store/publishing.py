"""Publishes the last answer of a query: its output path shows it."""

from __future__ import annotations

from slackwater.job.store.store import Store


def show_last(store: Store) -> None:
    """Shows the last answer of every query, where that was not done or was interrupted."""
    for name in store.answer_directories:
        show_last_of(store, name)


def show_last_of(store: Store, query: str) -> None:
    """Which one is the last is asked while nobody else can commit another, and it is never an older one."""
    directory = store.answer_directories[query]
    with store.lock.ours():
        last = store.last_delivered(query)
        if last is not None and directory.holds(last) and not store.shows_later(query, last):
            directory.publish(last.directory)
