"""Copies of a whole lake: its catalog as of one moment, and every object that it names.

    backups/ID/backup.json     what it is and whose; written last, so it is there when all is
    backups/ID/catalog.zst     the rows of the catalog
    backups/ID/objects.zst     its objects: key, size and hash of each, as they are in this place
    data/ packs/ …             the objects of all backups, each once

What always holds: the catalog is read first and the objects after it, while a lease keeps them in
the lake. No byte is copied that was not compared with what the catalog says of it, and none is
restored that is not what was copied. An object that is there already is believed if the newest
backup of the same lake lists it, and read otherwise.

The secrets of pipelines and the key of the server are not in a backup: who may read it need not
know them. Nor is what files refer to outside the lake: the reference is, and a lake that is
restored follows it as this one. An erasure does not reach what was copied before it. A lake that
is restored does all that its catalog knows of again, so that what was erased before a backup does
not come back with it.
"""
