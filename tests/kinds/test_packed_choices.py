import pytest
import tensorflow as tf

from keras_bert.kinds.packed_choices import pack_choices


def _texts(lengths):
    """Ids count from 10 in each text; segment 1 starts at its second token."""
    input_ids = tf.ragged.range(
        10, 10 + tf.convert_to_tensor(lengths, tf.int32)
    )
    segment_ids = tf.cast(input_ids > 10, tf.int32)
    return {"input_ids": input_ids, "segment_ids": segment_ids}


def _packed(lengths, num_choices):
    packed = pack_choices(_texts(lengths), num_choices)
    assert {x.dtype for x in packed.values()} == {tf.int32}
    return {name: x.to_list() for name, x in packed.items()}


def test_choices_of_an_example_share_a_row():
    assert _packed([3, 1, 2, 2, 2, 4], 3) == {
        "input_ids": [
            [[10, 11, 12, 10, 10, 11]],
            [[10, 11, 10, 11, 10, 11, 12, 13]],
        ],
        "segment_ids": [[[0, 1, 1, 0, 0, 1]], [[0, 1, 0, 1, 0, 1, 1, 1]]],
        "input_mask": [[[1, 1, 1, 2, 3, 3]], [[1, 1, 2, 2, 3, 3, 3, 3]]],
        "position_ids": [[[0, 1, 2, 0, 0, 1]], [[0, 1, 0, 1, 0, 1, 2, 3]]],
        "cls_positions": [[[0, 3, 4]], [[0, 2, 4]]],
    }


def test_each_long_choice_has_its_own_row():
    lengths = [60, 80, 70, 50]
    packed = _packed(lengths, 2)
    assert packed["input_ids"] == [
        [list(range(10, 70)), list(range(10, 90))],
        [list(range(10, 80)), list(range(10, 60))],
    ]
    assert packed["input_mask"] == [
        [[1] * 60, [1] * 80],
        [[1] * 70, [1] * 50],
    ]
    assert packed["position_ids"][1][1] == list(range(50))
    assert packed["cls_positions"] == [[[0], [0]], [[0], [0]]]


@pytest.mark.parametrize(("longest", "num_rows"), [(80, 1), (81, 2)])
def test_choices_share_rows_of_up_to_128_tokens_on_average(longest, num_rows):
    packed = _packed([longest, 60, 60, 56], 2)
    assert [len(rows) for rows in packed["input_ids"]] == [num_rows] * 2


def test_in_a_graph_for_any_number_of_choices():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([], tf.int32),
        ]
    )
    def pack(lengths, num_choices):
        packed = pack_choices(_texts(lengths), num_choices)
        return packed["input_mask"].to_tensor(), packed["cls_positions"]

    mask, begins = pack([2, 1, 1, 1], 4)
    assert mask.numpy().tolist() == [[[1, 1, 2, 3, 4]]]
    assert begins.to_list() == [[[0, 2, 3, 4]]]
    mask, begins = pack([2, 1, 1, 1], 2)
    assert mask.numpy().tolist() == [[[1, 1, 2]], [[1, 2, 0]]]
    assert begins.to_list() == [[[0, 2]], [[0, 1]]]


def test_no_examples():
    packed = _packed([], 4)
    assert set(map(str, packed.values())) == {"[]"}
