"""`tulle model` computes what training a model needs, and refuses what does not fit."""

import json
import unittest

from program import main, tulle


class Model(unittest.TestCase):
    LAYOUT = ["--gpus", "64", "--tp", "4", "--pp", "4", "--cp", "2", "--virtual", "5",
              "--zero", "1", "--micro-batches", "64"]

    def test_a_layout_that_fits_is_reckoned(self):
        done = tulle("model", "llama3-70b", *self.LAYOUT, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["parameters"], 70_553_706_496)
        self.assertEqual(found["tokens_per_step"], 2 * 64 * 8192)
        # Four per layer of the stage and micro-batch; a micro-batch has 8,192 tokens on two ranks.
        tensor = next(one for one in found["says"] if one["kind"] == "tensor")
        self.assertEqual(tensor, {"kind": "tensor", "times": 4 * 20 * 64, "bytes": 2 * 4096 * 8192})
        self.assertEqual(found["bubble"], 3 / (5 * 64))

    def test_without_a_number_of_gpus_there_is_one_replica(self):
        found = json.loads(tulle("model", "llama3-8b", "--tp", "4", "--cp", "2", "--json",
                                 "-").stdout)
        self.assertEqual(found["gpus"], 8)

    def test_what_does_not_fit_is_refused_with_the_sum(self):
        done = tulle("model", "llama3-70b")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not fit into the 80.0 GB of h100: parameters 141.1 GB",
                      done.stderr.decode())

    def test_what_is_wrong_is_said_in_a_sentence(self):
        for words, said in ((["gpt5"], "there is no model 'gpt5'; there are gpt3-175b"),
                            (["llama3-8b", "--gpu", "v100"], "there is no GPU 'v100'"),
                            (["llama3-8b", "--gpus", "60", "--tp", "8"], "no multiple of tp x pp"),
                            (["llama3-8b", "--tp", "3", "--gpus", "3"], "does not divide the 32")):
            done = tulle("model", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr.decode())


if __name__ == "__main__":
    main()
