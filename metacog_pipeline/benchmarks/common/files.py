"""Frames on disk: moved to `metacog_pipeline.study.frames`."""

from metacog_pipeline.study.frames import (
    MARK,
    BuiltItems,
    Shown,
    beside,
    computed_once,
    mark_of,
    read_frame,
    write_frame,
)

__all__ = ["MARK", "BuiltItems", "Shown", "beside", "computed_once", "mark_of", "read_frame", "write_frame"]
