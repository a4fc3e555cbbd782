"""usage: python_batches.py DATA HONE-GNN

Tests the package hone_gnn with the standard library alone. Prints "ok TEST" or "not ok TEST" for each.
"""
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import hone_gnn
from hone_gnn import Dataset, HoneGnnError, NeighborLoader

DATA, PROGRAM = sys.argv[1:3]
MASK = 2**64 - 1


def loader(data=DATA, fanouts=(5, 3), batch_size=100, **options):
    return NeighborLoader(data, fanouts, batch_size, output="dlpack", **options)


def digest(batches):
    return sum(b.digest() for b in batches) & MASK


def printed_digest(*options):
    out = subprocess.run([PROGRAM, "sample", "--digest", *options, DATA], check=True, capture_output=True, text=True)
    return int(out.stdout.split()[-1], 16)


class Batches(unittest.TestCase):
    def test_batches_are_those_of_hone_gnn(self):
        for options, flags in [
                ({}, "-f 5,3 -b 100"),
                ({"num_threads": 1, "slots": 2}, "-f 5,3 -b 100"),
                ({"sampler": "replace", "seed": 9, "in_order": False}, "-f 5,3 -b 100 --sampler replace -s 9"),
                ({"sampler": "labor", "input_nodes": "test"}, "-f 5,3 -b 100 --sampler labor --split test"),
                ({"shuffle": False, "input_nodes": "valid", "fanouts": [-1]}, "-f all -b 100 --split valid --no-shuffle"),
                ({"features": False, "fanouts": [2, 2, 2]}, "-f 2,2,2 -b 100 --no-slice")]:
            with self.subTest(flags), loader(**options) as l:
                self.assertEqual(digest(l), printed_digest(*flags.split()))
        with loader() as l:  # the second epoch goes on where the first ended
            self.assertEqual((digest(l) + digest(l)) & MASK, printed_digest(*"-f 5,3 -b 100 --epochs 2".split()))
            self.assertEqual(l.epoch, 2)

    def test_arrays_are_those_of_the_data(self):
        data = Dataset(DATA)
        features, labels = data.array("features").memoryview(), data.array("labels").tolist()
        offsets, neighbours = data.array("offsets").tolist(), data.array("neighbours").tolist()
        self.assertEqual(len(offsets), data.num_nodes + 1)
        for batch in loader(data):
            n_id, x, y = batch.n_id.tolist(), batch.x.memoryview(), batch.y.tolist()
            self.assertEqual(x.shape, (batch.num_nodes, data.num_features))
            for i in range(0, batch.num_nodes, 7):
                for k in range(data.num_features):
                    self.assertEqual(x[i, k], features[n_id[i], k])
            self.assertEqual(y, [labels[v] for v in n_id[:batch.batch_size]])
            self.assertEqual([b.num_dst for b in batch.blocks], [b.num_src for b in batch.blocks[1:]] + [batch.batch_size])
            self.assertEqual(batch.blocks[0].num_src, batch.num_nodes)
            for block, fanout in zip(batch.blocks, (3, 5)):
                indptr, indices = block.indptr.tolist(), block.indices.tolist()
                source, target = block.edge_index.tolist()
                self.assertEqual(source, indices)
                self.assertEqual(target, [i for i in range(block.num_dst) for _ in range(indptr[i], indptr[i + 1])])
                for i in range(block.num_dst):
                    all_of = neighbours[offsets[n_id[i]]:offsets[n_id[i] + 1]]
                    taken = [n_id[j] for j in indices[indptr[i]:indptr[i + 1]]]
                    self.assertEqual(len(taken), min(fanout, len(all_of)))
                    self.assertLessEqual(set(taken), set(all_of))

    def test_a_loader_takes_given_seed_nodes_and_ranks(self):
        with loader(input_nodes=[7, 3, 500], shuffle=False, batch_size=2) as l:
            self.assertEqual([b.n_id.tolist()[:b.batch_size] for b in l], [[7, 3], [500]])
            self.assertEqual(len(l), 2)
        with loader(input_nodes=[]) as l:
            self.assertEqual(list(l), [])
        seeds = []
        for rank in range(3):
            with loader(rank=rank, ranks=3) as l:
                for b in l:
                    seeds += b.n_id.tolist()[:b.batch_size]
        self.assertEqual(sorted(seeds), sorted(Dataset(DATA).array("train").tolist()))

    def test_an_epoch_can_continue_in_the_middle(self):
        with loader() as l:
            whole = [b.digest() for b in l.batches(3)]
            self.assertEqual([b.digest() for b in l.batches(3, first=4)], whole[4:])
            self.assertEqual(len(l), len(whole))


class Errors(unittest.TestCase):
    def test_bad_arguments_are_refused(self):
        for error, words, options in [
                (HoneGnnError, "train, valid or test", {"input_nodes": "trian"}),
                (HoneGnnError, "sampler", {"sampler": "unifrom"}),
                (HoneGnnError, "anout", {"fanouts": [5, 0]}),
                (ValueError, "1 to 8 fanouts", {"fanouts": []}),
                (ValueError, "1 to 8 fanouts", {"fanouts": [1] * 9}),
                (ValueError, "fanout", {"fanouts": [2.5]}),
                (ValueError, "batch_size", {"batch_size": 0}),
                (ValueError, "num_threads", {"num_threads": 1000}),
                (ValueError, "slots", {"slots": 0}),
                (ValueError, "seed", {"seed": -1}),
                (HoneGnnError, "rank 2 of 2", {"rank": 2, "ranks": 2}),
                (HoneGnnError, "twice", {"input_nodes": [4, 4]}),
                (HoneGnnError, "a seed node", {"input_nodes": [10**6]}),
                (ValueError, "32 bits", {"input_nodes": [10**12]}),
                (HoneGnnError, "manifest.json", {"data": "/nowhere"})]:
            with self.subTest(words), self.assertRaisesRegex(error, words):
                loader(**options)
        for words, options in [("output", {"output": "tensorflow"}), ("views", {"output": "dlpack", "copy": True})]:
            with self.assertRaisesRegex(ValueError, words):
                NeighborLoader(DATA, [2], **options)
        with self.assertRaisesRegex(HoneGnnError, "no array 'weights'"):
            Dataset(DATA).array("weights")
        with self.assertRaisesRegex(HoneGnnError, "auto, read or map"):
            Dataset(DATA, memory="huge")
        with loader() as l, self.assertRaisesRegex(ValueError, "epoch"):
            l.batches(-1)

    def test_a_missing_package_is_named(self):
        sys.modules["numpy"], kept = None, sys.modules.get("numpy")
        try:
            with self.assertRaisesRegex(ImportError, 'output="dlpack"'):
                NeighborLoader(DATA, [2], output="numpy")
        finally:
            del sys.modules["numpy"]
            if kept:
                sys.modules["numpy"] = kept

    def test_a_missing_library_is_named(self):
        done = subprocess.run([sys.executable, "-c", "import hone_gnn"], capture_output=True, text=True,
                              env={**os.environ, "HONE_GNN_LIBRARY": "/nowhere/lib.so"}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("make gnn-library", done.stderr)

    def test_use_after_close_is_an_error(self):
        l = loader()
        epoch = iter(l)
        batch = next(epoch)
        before = batch.digest()
        l.close()
        l.close()
        self.assertEqual(batch.digest(), before)  # batches stay valid
        for use in (lambda: next(epoch), lambda: iter(l), lambda: l.batches(1)):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()
        data = Dataset(DATA)
        with loader(data) as l:
            data.close()
            self.assertEqual(sum(1 for _ in l), len(l))  # a loader keeps its data
            with self.assertRaisesRegex(ValueError, "closed"):
                data.array("train")
            with self.assertRaisesRegex(ValueError, "closed"):
                loader(data)

    def test_a_forked_process_gets_an_error(self):
        with loader() as l:
            epoch = iter(l)
            batch = next(epoch)
            with self.assertRaisesRegex(TypeError, "another process"):
                pickle.dumps(l)
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                status = 1
                try:
                    next(epoch)
                except HoneGnnError as e:
                    status = 0 if "forked" in str(e) else 2
                del batch, epoch
                l.close()
                os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual(sum(1 for _ in epoch), len(l) - 1)  # the parent goes on
            self.assertIsNotNone(batch)


class Lifetimes(unittest.TestCase):
    def test_a_new_epoch_ends_the_old_one(self):
        with loader() as l:
            want = [b.digest() for b in l.batches(0)]
            for kept in (False, True):
                old = l.batches(0)
                batch = next(old)
                self.assertEqual([b.digest() for b in l.batches(0)], want)
                with self.assertRaisesRegex(RuntimeError, "another one"):
                    next(old)
                if not kept:
                    del batch

    def test_a_loader_can_be_closed_at_any_moment(self):
        for taken in range(6):
            l = loader(num_threads=3, slots=6)
            epoch = iter(l)
            held = [next(epoch) for _ in range(taken)]
            l.close()
            del held
        l, ended = loader(), []

        def consume():
            try:
                while True:
                    for _ in l:
                        pass
            except (ValueError, HoneGnnError) as e:
                ended.append(e)
        thread = threading.Thread(target=consume)
        thread.start()
        time.sleep(0.05)
        l.close()
        thread.join(20)
        self.assertEqual(len(ended), 1)

    def test_two_loaders_work_at_once(self):
        data = Dataset(DATA)
        with loader(data) as a, loader(data, seed=2, num_threads=1) as b:
            want = digest(a.batches(0)), digest(b.batches(0))
            pairs = list(zip(*[(x.digest() for x in l.batches(0)) for l in (a, b)]))
            self.assertEqual(tuple(sum(d) & MASK for d in zip(*pairs)), want)

    def test_views_keep_their_memory(self):
        l = loader()
        view = next(iter(l)).x.memoryview()
        copy = view.tobytes()
        for _ in range(3):
            for _ in l:
                pass
        l.close()
        del l
        self.assertEqual(view.tobytes(), copy)

    def test_holding_all_slots_is_an_error(self):
        with loader(slots=3) as l:
            epoch = iter(l)
            held = [next(epoch) for _ in range(3)]
            with self.assertRaisesRegex(HoneGnnError, "all 3 slots"):
                next(epoch)
            held.pop()
            self.assertEqual(next(epoch).index, 3)

    def test_capsules_that_nobody_takes_are_freed(self):
        with loader(slots=1) as l:
            for batch in l:
                for _ in range(3):
                    batch.x.__dlpack__()
                with self.assertRaises(BufferError):
                    batch.x.__dlpack__(dl_device=(2, 0))
                del batch  # the slot is free again, else the next batch would be an error

    def test_ctrl_c_ends_a_loader(self):
        code = ("import hone_gnn, sys\nl = hone_gnn.NeighborLoader(sys.argv[1], [-1] * 4, output='dlpack')\n"
                "print('ready', flush=True)\nwhile True:\n    for batch in l: pass\n")
        with subprocess.Popen([sys.executable, "-c", code, DATA], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
            p.stdout.readline()
            time.sleep(0.1)
            p.send_signal(signal.SIGINT)
            self.assertEqual(p.wait(20), -signal.SIGINT)

    def test_a_process_can_end_with_open_batches(self):
        code = ("import hone_gnn, sys\nl = hone_gnn.NeighborLoader(sys.argv[1], [3], 50, output='dlpack')\n"
                "e = iter(l)\nbatch = next(e)\nx = batch.x.memoryview()\nc = batch.x.__dlpack__()\n")
        done = subprocess.run([sys.executable, "-c", code, DATA], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Result(unittest.TextTestResult):
    def _say(self, verdict, test):
        print(verdict, test.id().split(".")[-1].replace("test_", "").replace("_", " "), flush=True)

    def addSuccess(self, test):
        self._say("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._say("not ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self._say("not ok", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._say("not ok", test)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=0))
