"""Use a metric as a reward for reinforcement learning; the function has the signature of TRL's trainers.

`GRPOTrainer(reward_funcs=[reward_function], …)` calls it as below, with a data set whose column `source`
holds the sentences to correct.
"""

from learnedgec import reward

reward_function = reward(
    "impara",
    centre=True,  # leaving the source as it is earns 0
    floor=-1.0,  # what is no correction earns this minus its distance from the source
    watch="edit-count",  # logged, never rewarded: does the policy only edit more and more?
)

source = "She have went to school yesterday ."
completions = {
    "a good correction": "<think>went</think> Corrected sentence: She went to school yesterday .",
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
