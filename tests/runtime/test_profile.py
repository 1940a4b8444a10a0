from __future__ import annotations

from learnedgec.runtime.profile import Profile


def test_a_profile_says_what_was_done_and_spared() -> None:
    profile = Profile(
        rows=2000,
        distinct=1500,
        asked=1500,
        remembered=300,
        stored=200,
        encoded=1000,
        tokens=900,
        padding=100,
    )
    profile.seconds, profile.processor = 4.0, 8.0
    assert profile.lines() == [
        "rows: 2,000, of which 1,500 are distinct (75.0 %)",
        "inputs: 1,500, of which 300 were in memory and 200 in the cache folder",
        "models: 1,000 inputs in 4.0 s, 250.0 a second (125.0 a processor second); "
        "900 tokens, padding 10.0 %",
    ]
    profile.reset()
    assert profile.lines() == ["rows: 0, of which 0 are distinct (0.0 %)", "models: none was asked"]
