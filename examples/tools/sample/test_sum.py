import pytest
from sum import add
def test_adds():
    assert add(1, 2) == 3
def test_is_wrong():
    assert add(1, 2) == 4
@pytest.mark.skip
def test_is_left_out():
    pass
