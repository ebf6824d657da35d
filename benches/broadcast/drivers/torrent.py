"""libtorrent: `torrent.py make|seed|leech FILE TORRENT ADDRESS…`.

With `make` the description is written. The first address is one's own, the others are those of all hosts. No
tracker and nothing that searches for peers: everybody is told everybody's address at once, as a tracker on
the spot would. Settings are libtorrent's own for ordinary use, except that TCP alone is used and that all
peers may be served at once.
"""

import sys
import time
from pathlib import Path

import libtorrent as lt

PORT = 6881
LOOK_S = 0.002
SETTINGS = {
    "enable_dht": False,
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "enable_incoming_utp": False,
    "enable_outgoing_utp": False,
    "allow_multiple_connections_per_ip": True,
    "unchoke_slots_limit": -1,
    "connection_speed": 100,
    "alert_mask": lt.alert.category_t.status_notification,
}


def description(file: Path, torrent: Path) -> lt.torrent_info:
    """The source makes it, with pieces as large as libtorrent chooses."""
    if not torrent.exists():
        storage = lt.file_storage()
        lt.add_files(storage, str(file))
        made = lt.create_torrent(storage)
        lt.set_piece_hashes(made, str(file.parent))
        torrent.write_bytes(lt.bencode(made.generate()))
    return lt.torrent_info(str(torrent))


def main() -> None:
    """Until killed: a host that has the file serves it to others."""
    role, file, torrent, own, *others = sys.argv[1:]
    info = description(Path(file), Path(torrent))
    if role == "make":
        return
    session = lt.session(SETTINGS | {"listen_interfaces": f"{own}:{PORT}"})
    folder = Path(file).parent / ("" if role == "seed" else "part")
    wanted = {"ti": info, "save_path": str(folder)}
    if role == "seed":
        wanted["flags"] = lt.torrent_flags.seed_mode
    handle = session.add_torrent(wanted)
    handle.unset_flags(lt.torrent_flags.auto_managed)
    handle.resume()
    for address in others:
        if address != own:
            handle.connect_peer((address, PORT))
    while role == "leech" and not handle.status().is_seeding:
        time.sleep(LOOK_S)
    if role == "leech":
        handle.flush_cache()
        (folder / info.files().file_path(0)).rename(file)
    while True:
        time.sleep(1)


if __name__ == "__main__":
    main()
