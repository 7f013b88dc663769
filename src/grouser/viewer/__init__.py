"""Seeing a recording: in a browser while it grows or later, as a page to send, as a film, as tables.

Everything here is read from recordings; a live view reads one as it grows. Imported where it is used: viser, MuJoCo's
renderer and rosbags are extras.
"""
