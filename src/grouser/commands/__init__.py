"""The commands of the command line. Only this package imports simulation, report and viewer together."""
