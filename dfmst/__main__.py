"""``python -m dfmst``: the command line."""

from dfmst.cli import main

if __name__ == "__main__":
    main(prog_name="dfmst")
