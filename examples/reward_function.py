"""Use a metric as a reward for reinforcement learning; the function has the signature of TRL's trainers.

`GRPOTrainer(reward_funcs=[reward_function], …)` calls it as below, with a data set whose column `source`
holds the sentences to correct.
"""

from learnedgec import reward

# By default: how good the text is, less a charge where the meaning changes. Leaving the source as it is
# earns 0, and what is no correction at all about -10. What is watched is logged, never rewarded: does the
# policy only edit more and more?
reward_function = reward(watch="edit-count")

source = "She have went to school yesterday ."
completions = {
    "a good correction": "<think>went</think> Corrected sentence: She went to school yesterday .",
    "another meaning": "She has gone to the moon yesterday .",
    "nothing corrected": source,
    "an added mistake": "She have went to a schools yesterday .",
    "an empty answer": "",
}
rewards = reward_function(
    prompts=["Correct: " + source] * len(completions),
    completions=list(completions.values()),
    source=[source] * len(completions),
)
for kind, value in zip(completions, rewards, strict=True):
    print(f"{value:+.3f}  {kind}")
step = reward_function.history[-1]
print(
    f"mean reward {step.reward:+.3f}, edited tokens {step.watched:.2f}, floored {step.floored:.0%}"
)
