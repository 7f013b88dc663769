"""What the command line does; the only place where simulation meets report and viewer."""
