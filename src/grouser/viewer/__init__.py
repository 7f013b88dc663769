"""Shows a recording: in a browser during or after the run, as a page to send, as a video, as tables.

All data comes from recordings; a live view reads one while it is written. viser, MuJoCo's renderer and rosbags are
optional, so they are imported where they are used.
"""
